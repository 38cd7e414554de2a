#include "couplet/experiments/scale.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "couplet/core/error.hpp"

namespace couplet {
namespace {

/// "12,345".
std::string with_commas(long long value) {
    std::string digits = std::to_string(std::abs(value));
    for (auto i = static_cast<std::ptrdiff_t>(digits.size()) - 3; i > 0; i -= 3) {
        digits.insert(digits.begin() + i, ',');
    }
    return (value < 0 ? "-" : "") + digits;
}

/// The round number below that divides a range into about `wanted` steps: 1, 2 or 5 times a power of ten.
double round_step(double range, double wanted) {
    const double raw = range / wanted;
    const double power = std::pow(10, std::floor(std::log10(raw)));
    for (const double factor : {1.0, 2.0, 5.0}) {
        if (raw <= factor * power * (1 + 1e-9)) return factor * power;
    }
    return 10 * power;
}

/// Which multiples of powers of ten have numbers: as many as make three to eight labels of an axis.
struct LogLabels {
    std::array<int, 2> factors;
    bool contains(int factor) const { return std::find(factors.begin(), factors.end(), factor) != factors.end(); }
};

LogLabels log_labels(double decades) {
    if (decades < 2.2) return {{2, 5}};
    if (decades < 3.7) return {{3, 3}};
    return {{0, 0}};
}

/// In millions, thousands of millions or millions of millions.
double scaled(double size, double value) { return value / (size < 1e9 ? 1e6 : size < 1e12 ? 1e9 : 1e12); }

}  // namespace

std::string short_number(double value) {
    if (value == 0) return "0";
    if (!std::isfinite(value)) return std::isnan(value) ? "-" : value > 0 ? "inf" : "-inf";
    const double size = std::abs(value);
    if (size >= 1e6 && size < 1e15)
        return fmt::format("{:.3g} {}", scaled(size, value), size < 1e9 ? "M" : size < 1e12 ? "G" : "T");
    if (size >= 1e15 || size < 1e-4) {
        std::string text = fmt::format("{:.1e}", value);
        const auto e = text.find('e');
        return fmt::format("{}e{}", text.substr(0, e), std::stoi(text.substr(e + 1)));
    }
    if (size >= 1000) return with_commas(std::llround(value));
    return fmt::format("{:.3g}", value);
}

std::string table_number(double value) {
    const double size = std::abs(value);
    if (!(size >= 1e-4 && size < 1000) || value == std::floor(value)) return short_number(value);
    return size >= 100 ? fmt::format("{:.0f}", value) : fmt::format("{:#.3g}", value);
}

std::string rse_text(double rse) { return rse < rounding_rse ? "exact" : table_number(rse); }

std::string tick_number(double value) {
    const double size = std::abs(value);
    if (size > 0 && size < 1e-3) {
        const auto power = static_cast<int>(std::floor(std::log10(size) + 1e-9));
        return fmt::format("{:.3g}e{}", value / std::pow(10.0, power), power);
    }
    if (size < 1e4 || size >= 1e15) return short_number(value);
    const char* unit = size < 1e6 ? "k" : size < 1e9 ? "M" : size < 1e12 ? "G" : "T";
    return fmt::format("{:.3g}{}", size < 1e6 ? value / 1e3 : scaled(size, value), unit);
}

Scale::Scale(double low, double high, bool log, double from, double to)
    : low_(low), high_(high), log_(log), from_(from), to_(to) {
    if (!std::isfinite(low) || !std::isfinite(high) || low > high || (log && low <= 0)) {
        throw InputError({"axis", fmt::format("{} to {}", low, high), log ? "positive numbers" : "numbers", ""});
    }
    if (log_) {
        const double air = std::max(0.04 * std::log(high / low), low == high ? std::log(2.0) : 0.0);
        low_ = low * std::exp(-air);
        high_ = high * std::exp(air);
    } else {
        const double air = high > low ? 0.05 * (high - low) : std::max(std::abs(low), 1.0) * 0.5;
        // Zero is a floor nobody wants to see undercut.
        low_ = low >= 0 && low - air < 0 ? 0 : low - air;
        high_ = high + air;
    }
}

double Scale::at(double value) const {
    const double part = log_ ? std::log(value / low_) / std::log(high_ / low_) : (value - low_) / (high_ - low_);
    return from_ + part * (to_ - from_);
}

std::vector<Tick> Scale::ticks() const {
    std::vector<Tick> ticks;
    if (!log_) {
        const double step = round_step(high_ - low_, 5);
        for (double k = std::ceil(low_ / step - 1e-9); k * step <= high_ * (1 + 1e-12) + 1e-300; ++k) {
            const double value = std::abs(k) < 1e-9 ? 0 : k * step;
            ticks.push_back({value, tick_number(value)});
        }
        return ticks;
    }
    const double decades = std::log10(high_ / low_);
    const auto first = static_cast<int>(std::floor(std::log10(low_)));
    const auto last = static_cast<int>(std::ceil(std::log10(high_)));
    const int stride = std::max(1, static_cast<int>(std::ceil(decades / 6)));
    const LogLabels labelled = log_labels(decades);
    for (int power = first; power <= last; ++power) {
        for (const int factor : {1, 2, 3, 5}) {
            const double value = factor * std::pow(10.0, power);
            if (value < low_ || value > high_) continue;
            const bool with_number = factor == 1 ? power % stride == 0 : labelled.contains(factor);
            const bool mark = with_number || (decades < 3 && factor != 3);
            if (mark) ticks.push_back({value, with_number ? tick_number(value) : ""});
        }
    }
    // A narrow range may lie between two round numbers.
    auto labels = std::count_if(ticks.begin(), ticks.end(), [](const Tick& tick) { return !tick.label.empty(); });
    constexpr double apart = 28;  // of two labels, in the units of the drawing
    for (double wanted = 4; labels < 3 && wanted <= 12; ++wanted) {
        const double step = round_step(high_ - low_, wanted);
        ticks.clear();
        for (double k = std::ceil(low_ / step); k * step <= high_; ++k) {
            const bool fits = ticks.empty() || std::abs(at(k * step) - at(ticks.back().value)) >= apart ||
                              std::abs(to_ - from_) < 4 * apart;
            if (fits) ticks.push_back({k * step, tick_number(k * step)});
        }
        labels = static_cast<std::ptrdiff_t>(ticks.size());
        if (labels == 2 && std::abs(to_ - from_) < 4 * apart) break;
    }
    return ticks;
}

}  // namespace couplet
