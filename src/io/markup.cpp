#include "couplet/io/markup.hpp"

#include "couplet/core/utf8.hpp"

namespace couplet {

std::string escape_markup(std::string_view text) {
    std::string result;
    while (!text.empty()) {
        const CodePoint next = first_code_point(text);
        const std::string_view here = text.substr(0, next.length > 0 ? next.length : 1);
        text.remove_prefix(here.size());
        switch (here.front()) {
            case '&':
                result += "&amp;";
                break;
            case '<':
                result += "&lt;";
                break;
            case '>':
                result += "&gt;";
                break;
            case '"':
                result += "&quot;";
                break;
            case '\'':
                result += "&#39;";
                break;
            default:
                // Control characters are no part of a page: U+FFFD stands for them, and for what is no UTF-8.
                if (next.length == 0 || (is_control(next.value) && next.value != '\n' && next.value != '\t')) {
                    result += "\xEF\xBF\xBD";
                } else {
                    result += here;
                }
        }
    }
    return result;
}

}  // namespace couplet
