#include "couplet/table/dates.hpp"

#include <fmt/format.h>

#include <algorithm>
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

std::int64_t days_to(int year, unsigned month, unsigned day) {
    return ch::sys_days{ch::year_month_day{ch::year{year}, ch::month{month}, ch::day{day}}}.time_since_epoch().count();
}

std::optional<std::int64_t> days_of(int year, int month, int day) {
    if (year < 1800 || year > 2199 || month < 1 || month > 12 || day < 1) return std::nullopt;
    const ch::year_month_day date{ch::year{year}, ch::month{static_cast<unsigned>(month)},
                                  ch::day{static_cast<unsigned>(day)}};
    if (!date.ok()) return std::nullopt;
    return ch::sys_days{date}.time_since_epoch().count();
}

ch::year_month_day date_of(std::int64_t day) { return ch::year_month_day{ch::sys_days{ch::days{day}}}; }

/// Exactly two digits below a limit.
std::optional<int> take_two(std::string_view& text, int limit) {
    const std::size_t before = text.size();
    const auto value = take_digits(text, 2);
    return value && before - text.size() == 2 && *value < limit ? value : std::nullopt;
}

/// "Z", "+01:00", "+0100" or "+01" as seconds ahead of UTC; nothing for anything else.
std::optional<double> parse_zone(std::string_view text) {
    if (text == "Z" || text == "z" || text == "UTC") return 0;
    const double sign = text.starts_with('-') ? -1 : 1;
    if (!take(text, '-') && !take(text, '+')) return std::nullopt;
    const auto hours = take_two(text, 24);
    if (!hours) return std::nullopt;
    take(text, ':');
    const auto minutes = text.empty() ? std::optional<int>(0) : take_two(text, 60);
    if (!minutes || !text.empty()) return std::nullopt;
    return sign * 60 * (60 * *hours + *minutes);
}

/// ".25" as 0.25, cut off the front; 0 where there is none, nothing for a point alone.
std::optional<double> take_fraction(std::string_view& text) {
    if (!take(text, '.') && !take(text, ',')) return 0;
    double value = 0;
    double place = 1;
    for (; !text.empty() && text.front() >= '0' && text.front() <= '9'; text.remove_prefix(1)) {
        place /= 10;
        value += place * (text.front() - '0');
    }
    return place < 1 ? std::optional<double>(value) : std::nullopt;
}

/// Half a day of "PM"; nothing where the hour does not fit the word.
std::optional<double> take_half(std::string_view& text, int& hour) {
    std::string_view rest = text;
    take(rest, ' ');
    if (rest.size() < 2 || (rest[1] | 0x20) != 'm') return 0;
    const char half = static_cast<char>(rest[0] | 0x20);
    if (half != 'a' && half != 'p') return 0;
    if (hour < 1 || hour > 12) return std::nullopt;
    text = rest.substr(2);
    hour %= 12;
    return half == 'p' ? 12 * 3600 : 0;
}

/// Seconds of what follows a date, less those of its zone: nothing at all, or a time of day; no value for other text.
std::optional<double> time_of(std::string_view text) {
    if (text.empty()) return 0;
    if (!take(text, 'T') && !take(text, ' ')) return std::nullopt;
    const std::size_t before = text.size();
    auto hour = take_digits(text, 2);
    if (!hour || *hour > 24) return std::nullopt;
    const bool apart = take(text, ':');
    if (!apart && before - text.size() != 2) return std::nullopt;
    const auto minute = take_two(text, 60);
    if (!minute) return std::nullopt;
    std::optional<int> second = 0;
    std::optional<double> part = 0;
    const bool more = apart ? take(text, ':') : !text.empty() && text.front() >= '0' && text.front() <= '9';
    if (more) {
        second = take_two(text, 61);  // a leap second
        part = take_fraction(text);
    }
    const auto half = take_half(text, *hour);
    if (!second || !part || !half) return std::nullopt;
    if (*hour == 24 && (*minute > 0 || *second > 0 || *part > 0)) return std::nullopt;
    if (text.starts_with(' ') && text.size() > 1) take(text, ' ');
    const auto zone = text.empty() ? std::optional<double>(0) : parse_zone(text);
    if (!zone) return std::nullopt;
    return 3600.0 * *hour + 60.0 * *minute + *second + *part + *half - *zone;
}

/// A day and what is written behind it.
struct Stamp {
    std::int64_t day = 0;
    double seconds = 0;
};

std::optional<Stamp> stamp(std::optional<std::int64_t> day, std::string_view rest) {
    const auto seconds = day ? time_of(rest) : std::nullopt;
    return seconds ? std::optional<Stamp>({*day, *seconds}) : std::nullopt;
}

std::optional<Stamp> parse_iso(std::string_view text) {
    const auto digits = std::min(text.find_first_not_of("0123456789"), text.size());
    if (digits == 8) {
        const auto year = take_digits(text, 4);
        const auto month = take_digits(text, 2);
        const auto day = take_digits(text, 2);
        return stamp(days_of(*year, *month, *day), text);
    }
    if (digits != 4) return std::nullopt;
    const auto year = take_digits(text, 4);
    if (!take(text, '-')) return std::nullopt;
    const auto month = take_digits(text, 2);
    if (!month || !take(text, '-')) return std::nullopt;
    const auto day = take_digits(text, 2);
    return day ? stamp(days_of(*year, *month, *day), text) : std::nullopt;
}

std::optional<Stamp> parse_local(std::string_view text, DateOrder order) {
    const auto first = take_digits(text, 2);
    if (!first || text.empty()) return std::nullopt;
    const char mark = text.front();
    if (mark != '.' && mark != '/' && mark != '-') return std::nullopt;
    take(text, mark);
    const auto second = take_digits(text, 2);
    if (!second || !take(text, mark)) return std::nullopt;
    const std::string_view before = text;
    const auto year = take_digits(text, 4);
    if (!year || before.size() - text.size() != 4) return std::nullopt;
    const bool day_first = order == DateOrder::day_first;
    return stamp(days_of(*year, day_first ? *second : *first, day_first ? *first : *second), text);
}

std::optional<Stamp> parse_stamp(std::string_view text, DateOrder order) {
    if (const auto iso = parse_iso(text)) return iso;
    return order == DateOrder::iso ? std::nullopt : parse_local(text, order);
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
    const auto found = parse_stamp(text, order);
    return found ? std::optional<std::int64_t>(found->day) : std::nullopt;
}

std::optional<double> parse_moment(std::string_view text, DateOrder order) noexcept {
    const auto found = parse_stamp(text, order);
    return found ? std::optional<double>(86400.0 * static_cast<double>(found->day) + found->seconds) : std::nullopt;
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

std::optional<std::int64_t> parse_bin_date(std::string_view text, TimeBin bin, DateOrder order) noexcept {
    if (const auto day = parse_date(text, order)) return bin_of(*day, bin);
    if (bin == TimeBin::day || bin == TimeBin::week) return std::nullopt;
    std::string_view rest = text;
    const auto year = take_digits(rest, 4);
    if (!year || text.size() - rest.size() != 4) return std::nullopt;
    if (rest.empty() && bin != TimeBin::year) return std::nullopt;
    const auto month = rest.empty() ? std::optional<int>(1) : take(rest, '-') ? take_two(rest, 13) : std::nullopt;
    const auto first = month && rest.empty() ? days_of(*year, *month, 1) : std::nullopt;
    return first ? std::optional<std::int64_t>(bin_of(*first, bin)) : std::nullopt;
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
    const std::int64_t first = days_to(year, 1, 1);  // perhaps beyond the years that dates may have
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
        if (week) number = week_of(days_to(*year, 1, 4)) + *week - 1;  // the fourth is always in week 1
    } else if (const auto day = parse_date(bin == TimeBin::month ? std::string(label) + "-01" : std::string(label))) {
        number = bin_of(*day, bin);
    }
    if (!number || bin_label(*number, bin) != label) return std::nullopt;
    return number;
}

}  // namespace couplet
