#include "plot.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <vector>

namespace couplet::cli {
namespace {

constexpr std::size_t most_columns = 64;
constexpr std::size_t widest_bar = 4;
constexpr int height = 5;
constexpr int steps = 8;           ///< of one character
constexpr double deepest = 1e-16;  ///< below is rounding

/// One value per bar.
std::vector<double> condensed(std::span<const double> values) {
    if (values.size() <= most_columns) return {values.begin(), values.end()};
    std::vector<double> bars(most_columns);
    for (std::size_t j = 0; j < bars.size(); ++j) {
        const auto first = values.begin() + static_cast<std::ptrdiff_t>(j * values.size() / bars.size());
        const auto last = values.begin() + static_cast<std::ptrdiff_t>((j + 1) * values.size() / bars.size());
        bars[j] = *std::max_element(first, last);
    }
    return bars;
}

std::string_view cell(int filled, bool utf8) {
    static constexpr std::array<std::string_view, steps + 1> blocks{" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    if (utf8) return blocks[static_cast<std::size_t>(filled)];
    return filled > steps / 2 ? "#" : (filled > 0 ? "." : " ");
}

}  // namespace

std::string log_plot(std::span<const double> values, bool utf8) {
    const double largest = values.empty() ? 0 : *std::max_element(values.begin(), values.end());
    if (!(largest > 0)) return "";
    double smallest = 1;
    for (const double value : values) {
        if (value / largest >= deepest) smallest = std::min(smallest, value / largest);
    }
    const int decades = std::max(1, static_cast<int>(std::ceil(-std::log10(smallest) - 1e-9)));
    const std::vector<double> bars = condensed(values);
    const std::size_t bar_width = std::clamp<std::size_t>(most_columns / bars.size(), 1, widest_bar);

    std::string plot;
    for (int row = height - 1; row >= 0; --row) {
        std::string line = row == height - 1
                               ? "   1 |"
                               : (row == 0 ? fmt::format("{:>4} |", fmt::format("1e-{}", decades)) : "     |");
        for (const double bar : bars) {
            const double level = bar > 0 ? std::log10(bar / largest) / decades + 1 : 0;
            // The smallest value still shows: an empty place means zero, or too small for the scale.
            const int filled =
                level >= 0 && bar > 0 ? std::max(1, static_cast<int>(std::lround(level * height * steps))) : 0;
            for (std::size_t i = 0; i < bar_width; ++i) line += cell(std::clamp(filled - row * steps, 0, steps), utf8);
        }
        line.erase(line.find_last_not_of(' ') + 1);
        plot += line + "\n";
    }
    const std::string last = std::to_string(values.size());
    const std::size_t width = std::max(bars.size() * bar_width, last.size() + 2);
    plot += "      1" + (values.size() > 1 ? std::string(width - 1 - last.size(), ' ') + last : "") + "\n";
    return plot;
}

}  // namespace couplet::cli
