#include "couplet/io/text.hpp"

#include <fmt/format.h>

#include "couplet/core/utf8.hpp"

namespace couplet {
std::string shown(std::string_view text) {
    constexpr std::size_t longest = 40;
    std::string result = "'";
    for (const char c : text.substr(0, longest)) {
        // A backtick would begin the name of a parameter (couplet/core/spelling.hpp).
        if (c >= ' ' && c <= '~' && c != '`') {
            result += c;
        } else {
            result += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
        }
    }
    return result + (text.size() > longest ? "...'" : "'");
}

bool is_utf8(std::string_view text) noexcept {
    while (!text.empty()) {
        const CodePoint next = first_code_point(text);
        if (next.length == 0) return false;
        text.remove_prefix(next.length);
    }
    return true;
}

std::optional<std::u32string> decode_utf8(std::string_view text) {
    std::u32string points;
    while (!text.empty()) {
        const CodePoint next = first_code_point(text);
        if (next.length == 0) return std::nullopt;
        points += next.value;
        text.remove_prefix(next.length);
    }
    return points;
}

std::string encode_utf8(std::u32string_view points) {
    std::string text;
    const auto put = [&](char32_t byte) { text += static_cast<char>(static_cast<unsigned char>(byte)); };
    for (const char32_t p : points) {
        if (p < 0x80) {
            put(p);
        } else if (p < 0x800) {
            put(0xC0 | (p >> 6));
            put(0x80 | (p & 0x3F));
        } else if (p < 0x10000) {
            put(0xE0 | (p >> 12));
            put(0x80 | ((p >> 6) & 0x3F));
            put(0x80 | (p & 0x3F));
        } else {
            put(0xF0 | (p >> 18));
            put(0x80 | ((p >> 12) & 0x3F));
            put(0x80 | ((p >> 6) & 0x3F));
            put(0x80 | (p & 0x3F));
        }
    }
    return text;
}

}  // namespace couplet
