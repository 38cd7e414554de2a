#include "couplet/io/number.hpp"

#include <charconv>
#include <cmath>
#include <limits>
#include <system_error>

namespace couplet {
namespace {

std::string_view trimmed(std::string_view text) noexcept {
    while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
    while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
    return text;
}

}  // namespace

NumberText parse_number(std::string_view text, double& value) noexcept {
    text = trimmed(text);
    if (text.empty()) {
        value = std::numeric_limits<double>::quiet_NaN();
        return NumberText::number;
    }
    if (text.front() == '+' && text.size() > 1 && text[1] != '-') text.remove_prefix(1);
    const char* const end = text.data() + text.size();
    const auto [next, error] = std::from_chars(text.data(), end, value);
    if (error == std::errc::invalid_argument || next != end) return NumberText::not_a_number;
    if (error == std::errc()) return NumberText::number;
    // from_chars does not say on which side the number left the range; the exponent range of long double
    // does.
    long double wide = 0;
    if (std::from_chars(text.data(), end, wide).ec != std::errc() || std::fabs(wide) > 1)
        return NumberText::out_of_range;
    value = static_cast<double>(wide);
    return NumberText::number;
}

}  // namespace couplet
