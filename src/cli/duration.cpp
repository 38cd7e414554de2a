#include "duration.hpp"

#include <array>
#include <utility>

#include "command.hpp"
#include "couplet/core/error.hpp"
#include "couplet/io/number.hpp"
#include "couplet/io/text.hpp"
#include "job_options.hpp"

namespace couplet::cli {

Duration parse_duration(const std::string& option, const std::string& text) {
    if (text == "none") return std::nullopt;
    constexpr std::array<std::pair<std::string_view, double>, 4> units{
        {{"ms", 1}, {"s", 1e3}, {"m", 6e4}, {"h", 3.6e6}}};
    constexpr double longest = 3.6e6 * 24 * 365;
    for (const auto& [unit, milliseconds] : units) {
        if (!text.ends_with(unit)) continue;
        const std::string digits = text.substr(0, text.size() - unit.size());
        double value = 0;
        if (digits.empty() || parse_number(digits, value) != NumberText::number) continue;
        value *= milliseconds;
        if (value >= 1 && value <= longest) return std::chrono::milliseconds(static_cast<long>(value));
    }
    throw InputError({option, shown(text), "a time of at least a millisecond with its unit, or none",
                      "For example: 60s, 10m or 2h"});
}

void add_duration(Command& app, const std::string& name, const std::string& shown_default, Duration& value,
                  const std::string& description) {
    add_text(app, name, "TIME", shown_default, description,
             [&value, name](const std::string& text) { value = parse_duration(name, text); });
}

void add_deadline(Command& app, const std::string& shown_default, Duration& value, const std::string& description) {
    add_duration(app, "--deadline", shown_default, value, description);
}

}  // namespace couplet::cli
