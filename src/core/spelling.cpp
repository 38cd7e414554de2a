#include "couplet/core/spelling.hpp"

#include <algorithm>

namespace couplet {
namespace {

constexpr char quote = '`';

bool is_small(char c) { return c >= 'a' && c <= 'z'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool is_name(std::string_view text) {
    return !text.empty() && is_small(text.front()) && text.back() != '_' &&
           std::all_of(text.begin(), text.end(), [](char c) { return is_small(c) || is_digit(c) || c == '_'; });
}

}  // namespace

std::string spelled(std::string_view text, const Spelling& spelling) {
    if (!spelling) return std::string(text);
    std::string result;
    while (true) {
        const auto open = text.find(quote);
        if (open == std::string_view::npos) break;
        const auto close = text.find(quote, open + 1);
        if (close == std::string_view::npos) break;
        const std::string_view name = text.substr(open + 1, close - open - 1);
        result += text.substr(0, open);
        if (is_name(name)) {
            result += spelling(name);
            text.remove_prefix(close + 1);
        } else {
            result += text.substr(open, close - open);  // the second may open a name
            text.remove_prefix(close);
        }
    }
    return result.append(text);
}

ErrorParts spelled(const ErrorParts& parts, const Spelling& spelling) {
    return {spelled(parts.where, spelling), spelled(parts.found, spelling), spelled(parts.expected, spelling),
            spelled(parts.remedy, spelling)};
}

}  // namespace couplet
