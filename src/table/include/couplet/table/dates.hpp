#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace couplet {

/// Which number of a date comes first where it is not written as 2024-03-31 or 20240331.
enum class DateOrder { iso, day_first, month_first };

/// Days since 1970-01-01 of a date in the Gregorian calendar, as it is written: a time of day and a zone behind it do
/// not change the day. Nothing for text that is no date, for days and times that do not exist, and for anything else
/// behind them. day_first reads 31.3.2024 and 31/3/2024, month_first 3/31/2024; ISO dates are read with every order. A
/// year has four digits, 1800 to 2199.
std::optional<std::int64_t> parse_date(std::string_view text, DateOrder order = DateOrder::iso) noexcept;

/// Seconds since 1970-01-01T00:00Z of the same texts: a date without a time is its midnight, and a time without a zone
/// is taken as UTC. Times are 8:30, 08:30:59.5, 083059 and 1:30 PM; zones Z, +01:00, +0100 and +01.
std::optional<double> parse_moment(std::string_view text, DateOrder order = DateOrder::iso) noexcept;

enum class TimeBin { day, week, month, quarter, year };
std::optional<TimeBin> parse_bin(std::string_view name) noexcept;
std::string_view to_string(TimeBin bin) noexcept;

/// Number of the bin that holds a day; bins that follow each other have numbers that do.
std::int64_t bin_of(std::int64_t day, TimeBin bin) noexcept;
/// The bin that holds a date; 2024-03 and 2024 will do where the bin is as coarse.
std::optional<std::int64_t> parse_bin_date(std::string_view text, TimeBin bin,
                                           DateOrder order = DateOrder::iso) noexcept;
/// "2024-03-31", "2024-W13", "2024-03", "2024-Q1", "2024". Sorted as text they are sorted in time.
std::string bin_label(std::int64_t number, TimeBin bin);
/// The number of a bin from its label; nothing for anything else.
std::optional<std::int64_t> parse_bin_label(std::string_view label, TimeBin bin);

}  // namespace couplet
