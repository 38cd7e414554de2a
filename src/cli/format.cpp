#include "format.hpp"

#include <fmt/format.h>

#include <array>
#include <string_view>

namespace couplet::cli {

std::string shape_text(const Shape& shape) { return fmt::format("{}", fmt::join(shape.sizes(), " x ")); }

std::string ranks_text(std::span<const Index> ranks) { return fmt::format("{}", fmt::join(ranks, " ")); }

std::string count_text(Index count) {
    std::string text = std::to_string(count);
    const std::size_t first_digit = count < 0 ? 1 : 0;
    for (std::size_t i = text.size(); i > first_digit + 3;) {
        i -= 3;
        text.insert(i, 1, ',');
    }
    return text;
}

std::string bytes_text(Index bytes) {
    constexpr std::array<std::string_view, 7> units{"bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    auto value = static_cast<double>(bytes);
    std::size_t unit = 0;
    for (; value >= 1024 && unit + 1 < units.size(); ++unit) value /= 1024;
    return unit == 0 ? fmt::format("{} bytes", bytes) : fmt::format("{:.1f} {}", value, units[unit]);
}

std::string seconds_text(double seconds) {
    if (seconds == 0) return "0 s";
    if (seconds < 1e-3) return fmt::format("{:.3g} us", seconds * 1e6);
    if (seconds < 1) return fmt::format("{:.3g} ms", seconds * 1e3);
    return seconds < 1000 ? fmt::format("{:.3g} s", seconds) : fmt::format("{:.0f} s", seconds);
}

std::string number_text(double value) { return fmt::format("{:.4g}", value); }

std::string exact_text(double value) { return fmt::format("{}", value); }

}  // namespace couplet::cli
