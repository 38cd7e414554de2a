#include "couplet/table/dates.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <chrono>

namespace couplet {
namespace {

namespace ch = std::chrono;

/// Digits at the front of the text, at most `most`; nothing where there are none.
std::optional<int> take_digits(std::string_view& text, std::size_t most) {
    std::size_t count = 0;
    int value = 0;
    while (count < text.size() && count < most && text[count] >= '0' && text[count] <= '9') {
        value = 10 * value + (text[count++] - '0');
    }
    if (count == 0) return std::nullopt;
    text.remove_prefix(count);
    return value;
}

bool take(std::string_view& text, char c) {
    if (text.empty() || text.front() != c) return false;
    text.remove_prefix(1);
    return true;
}

std::optional<std::int64_t> days_of(int year, int month, int day) {
    if (year < 1800 || year > 2199 || month < 1 || month > 12 || day < 1) return std::nullopt;
    const ch::year_month_day date{ch::year{year}, ch::month{static_cast<unsigned>(month)},
                                  ch::day{static_cast<unsigned>(day)}};
    if (!date.ok()) return std::nullopt;
    return ch::sys_days{date}.time_since_epoch().count();
}

ch::year_month_day date_of(std::int64_t day) { return ch::year_month_day{ch::sys_days{ch::days{day}}}; }

/// What may follow a date: nothing, or a time of day.
bool ends_well(std::string_view rest) { return rest.empty() || rest.front() == 'T' || rest.front() == ' '; }

std::optional<std::int64_t> parse_iso(std::string_view text) {
    const auto digits = text.find_first_not_of("0123456789");
    if (digits == std::string_view::npos && text.size() == 8) {
        const auto year = take_digits(text, 4);
        const auto month = take_digits(text, 2);
        return days_of(*year, *month, *take_digits(text, 2));
    }
    if (digits != 4) return std::nullopt;
    const auto year = take_digits(text, 4);
    if (!take(text, '-')) return std::nullopt;
    const auto month = take_digits(text, 2);
    if (!month || !take(text, '-')) return std::nullopt;
    const auto day = take_digits(text, 2);
    if (!day || !ends_well(text)) return std::nullopt;
    return days_of(*year, *month, *day);
}

std::optional<std::int64_t> parse_local(std::string_view text, DateOrder order) {
    const auto first = take_digits(text, 2);
    if (!first || text.empty()) return std::nullopt;
    const char mark = text.front();
    if (mark != '.' && mark != '/' && mark != '-') return std::nullopt;
    take(text, mark);
    const auto second = take_digits(text, 2);
    if (!second || !take(text, mark)) return std::nullopt;
    const std::string_view before = text;
    const auto year = take_digits(text, 4);
    if (!year || before.size() - text.size() != 4 || !ends_well(text)) return std::nullopt;
    return order == DateOrder::day_first ? days_of(*year, *second, *first) : days_of(*year, *first, *second);
}

/// 1970-01-01 was a Thursday: weeks start on Mondays.
std::int64_t week_of(std::int64_t day) {
    const std::int64_t shifted = day + 3;
    return shifted >= 0 ? shifted / 7 : -((-shifted + 6) / 7);
}

constexpr std::array<std::pair<std::string_view, TimeBin>, 5> bins{{{"day", TimeBin::day},
                                                                    {"week", TimeBin::week},
                                                                    {"month", TimeBin::month},
                                                                    {"quarter", TimeBin::quarter},
                                                                    {"year", TimeBin::year}}};

}  // namespace

std::optional<std::int64_t> parse_date(std::string_view text, DateOrder order) noexcept {
    if (const auto iso = parse_iso(text)) return iso;
    return order == DateOrder::iso ? std::nullopt : parse_local(text, order);
}

std::optional<TimeBin> parse_bin(std::string_view name) noexcept {
    for (const auto& [word, bin] : bins) {
        if (word == name) return bin;
    }
    return std::nullopt;
}

std::string_view to_string(TimeBin bin) noexcept {
    for (const auto& [word, known] : bins) {
        if (known == bin) return word;
    }
    return "";
}

std::int64_t bin_of(std::int64_t day, TimeBin bin) noexcept {
    if (bin == TimeBin::day) return day;
    if (bin == TimeBin::week) return week_of(day);
    const auto date = date_of(day);
    const std::int64_t year = static_cast<int>(date.year());
    const std::int64_t month = static_cast<unsigned>(date.month()) - 1;
    if (bin == TimeBin::year) return year;
    return bin == TimeBin::month ? 12 * year + month : 4 * year + month / 3;
}

std::string bin_label(std::int64_t number, TimeBin bin) {
    if (bin == TimeBin::year) return fmt::format("{:04}", number);
    if (bin == TimeBin::quarter) return fmt::format("{:04}-Q{}", number / 4, number % 4 + 1);
    if (bin == TimeBin::month) return fmt::format("{:04}-{:02}", number / 12, number % 12 + 1);
    const auto text = [](std::int64_t day) {
        const auto date = date_of(day);
        return fmt::format("{:04}-{:02}-{:02}", static_cast<int>(date.year()), static_cast<unsigned>(date.month()),
                           static_cast<unsigned>(date.day()));
    };
    if (bin == TimeBin::day) return text(number);
    // A week belongs to the year of its Thursday (ISO 8601).
    const std::int64_t monday = 7 * number - 3;
    const int year = static_cast<int>(date_of(monday + 3).year());
    const std::int64_t first = *days_of(year, 1, 1);
    return fmt::format("{:04}-W{:02}", year, (monday + 3 - first) / 7 + 1);
}

std::optional<std::int64_t> parse_bin_label(std::string_view label, TimeBin bin) {
    std::string_view rest = label;
    const auto year = take_digits(rest, 4);
    if (!year) return std::nullopt;
    std::optional<std::int64_t> number;
    if (bin == TimeBin::year) {
        number = *year;
    } else if (bin == TimeBin::quarter && rest.size() == 3) {
        number = 4 * static_cast<std::int64_t>(*year) + (rest[2] - '1');
    } else if (bin == TimeBin::week && rest.size() == 4) {
        rest.remove_prefix(2);
        const auto week = take_digits(rest, 2);
        const auto fourth = days_of(*year, 1, 4);  // always in week 1
        if (week && fourth) number = week_of(*fourth) + *week - 1;
    } else if (const auto day = parse_date(bin == TimeBin::month ? std::string(label) + "-01" : std::string(label))) {
        number = bin_of(*day, bin);
    }
    if (!number || bin_label(*number, bin) != label) return std::nullopt;
    return number;
}

}  // namespace couplet
