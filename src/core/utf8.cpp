#include "couplet/core/utf8.hpp"

namespace couplet {

CodePoint first_code_point(std::string_view text) noexcept {
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

std::string plain_text(std::string_view text) {
    std::string result;
    while (!text.empty()) {
        const CodePoint next = first_code_point(text);
        const bool shown = next.length > 0 && !is_control(next.value);
        const std::size_t length = next.length > 0 ? next.length : 1;
        result += shown ? text.substr(0, length) : std::string_view("?");
        text.remove_prefix(length);
    }
    return result;
}

std::string shortened(std::string_view text, std::size_t most) {
    if (text.size() <= most) return std::string(text);
    const auto continues = [&](std::size_t at) { return (static_cast<unsigned char>(text[at]) & 0xC0u) == 0x80; };
    // No character has more than three bytes after its first; what has is none.
    for (int i = 0; i < 3 && most > 0 && continues(most); ++i) --most;
    return std::string(text.substr(0, most)) + "...";
}

}  // namespace couplet
