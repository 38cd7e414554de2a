#include "couplet/io/text.hpp"

#include <fmt/format.h>

#include <cstddef>

namespace couplet {
namespace {

struct Sequence {
    std::size_t length = 0;  ///< 0 when malformed
    char32_t point = 0;
};

Sequence decode_one(std::string_view text) noexcept {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    const unsigned lead = byte(0);
    if (lead < 0x80) return {1, lead};
    const std::size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
    if (lead < 0xC2 || lead > 0xF4 || text.size() < length) return {};
    char32_t point = lead & (0x7Fu >> length);
    for (std::size_t i = 1; i < length; ++i) {
        if ((byte(i) & 0xC0u) != 0x80) return {};
        point = (point << 6) | (byte(i) & 0x3Fu);
    }
    constexpr char32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
    const bool surrogate = point >= 0xD800 && point <= 0xDFFF;
    if (point < smallest[length] || point > 0x10FFFF || surrogate) return {};
    return {length, point};
}

}  // namespace

std::string shown(std::string_view text) {
    constexpr std::size_t longest = 40;
    std::string result = "'";
    for (const char c : text.substr(0, longest)) {
        if (c >= ' ' && c <= '~') {
            result += c;
        } else {
            result += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
        }
    }
    return result + (text.size() > longest ? "...'" : "'");
}

bool is_utf8(std::string_view text) noexcept {
    while (!text.empty()) {
        const Sequence next = decode_one(text);
        if (next.length == 0) return false;
        text.remove_prefix(next.length);
    }
    return true;
}

std::optional<std::u32string> decode_utf8(std::string_view text) {
    std::u32string points;
    while (!text.empty()) {
        const Sequence next = decode_one(text);
        if (next.length == 0) return std::nullopt;
        points += next.point;
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
