#include "couplet/io/csv_text.hpp"

#include <algorithm>

#include "couplet/io/number.hpp"

namespace couplet {

std::string csv_field(std::string_view text) {
    if (text.find_first_of(",\"\n\r") == std::string_view::npos) return std::string(text);
    std::string out = "\"";
    for (const char c : text) out += c == '"' ? std::string("\"\"") : std::string(1, c);
    return out + "\"";
}

std::string safe_csv_field(std::string_view text) {
    std::string safe(text);
    std::replace_if(
        safe.begin(), safe.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; }, '?');
    double value = 0;
    const bool formula = !safe.empty() && std::string_view("=+-@").find(safe.front()) != std::string_view::npos;
    if (formula && parse_number(safe, value) != NumberText::number) safe.insert(safe.begin(), '\'');
    return csv_field(safe);
}

}  // namespace couplet
