#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace couplet {

/// `text` in single quotes, fit for a message: cut after 40 bytes, bytes that do not print as \xNN.
std::string shown(std::string_view text);

/// True when `text` is well-formed UTF-8 (RFC 3629: no surrogates, no overlong forms).
bool is_utf8(std::string_view text) noexcept;

/// The code points of `text`; nothing when it is not is_utf8().
std::optional<std::u32string> decode_utf8(std::string_view text);

/// UTF-8 of Unicode scalar values (the caller checks that they are).
std::string encode_utf8(std::u32string_view points);

}  // namespace couplet
