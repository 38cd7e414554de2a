#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace couplet {

struct CodePoint {
    std::size_t length = 0;  ///< in bytes; 0 when the text does not begin with well-formed UTF-8
    char32_t value = 0;
};

/// The first code point of a text that is not empty (RFC 3629: no surrogates, no overlong forms).
CodePoint first_code_point(std::string_view text) noexcept;

/// Whether a terminal or a page may do something else with it than show it: C0, DEL and C1, what ends a line (U+2028,
/// U+2029), and what turns round the text after it (U+202A to U+202E, U+2066 to U+2069).
constexpr bool is_control(char32_t point) noexcept {
    return point < 0x20 || (point >= 0x7f && point < 0xa0) || (point >= 0x2028 && point <= 0x202e) ||
           (point >= 0x2066 && point <= 0x2069);
}

/// What somebody else said, as it may be shown on a line of a log or a terminal: a question mark for every control
/// character and every byte that is not UTF-8.
std::string plain_text(std::string_view text);

/// The text, or as many whole characters of it as `most` bytes hold and three dots.
std::string shortened(std::string_view text, std::size_t most);

}  // namespace couplet
