#include "couplet/coding/quantise.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string>

#include "couplet/coding/integers.hpp"
#include "couplet/core/error.hpp"

namespace couplet {
namespace {

void require_step(double step) {
    if (step > 0 && std::isfinite(step)) return;
    throw InputError({"step of a quantiser", std::to_string(step), "a positive finite number", ""});
}

void require_sizes(std::size_t numbers, std::size_t integers) {
    if (numbers == integers) return;
    throw InputError({"quantiser", std::to_string(numbers) + " numbers and " + std::to_string(integers) + " integers",
                      "as many of each", ""});
}

/// NaN when there is one.
double largest_magnitude(std::span<const double> d) {
    double largest = 0;
    for (const double value : d) {
        const double size = std::abs(value);
        largest = size <= largest ? largest : size;
    }
    // A comparison passes over a NaN that others follow; a sum does not.
    double sum = 0;
    for (const double value : d) sum += value - value;
    return largest + sum;
}

/// A truncation of numbers known to fit is a vector instruction everywhere, a floor is not.
std::int32_t integer_of(double d, double step) {
    const double steps = d / step;
    return static_cast<std::int32_t>(steps + std::copysign(rounding_offset, steps));
}

}  // namespace

void quantise(std::span<const double> d, double step, std::span<std::int32_t> q) {
    require_step(step);
    require_sizes(d.size(), q.size());
    const double largest = largest_magnitude(d);
    if (!(largest / step < static_cast<double>(largest_integer) + (1 - rounding_offset))) {
        throw InputError({"number to quantise", std::to_string(largest) + " at a step of " + std::to_string(step),
                          "at most 2^30 steps", "Use a larger step."});
    }
    for (std::size_t i = 0; i < d.size(); ++i) q[i] = integer_of(d[i], step);
}

Quantised quantise_measured(std::span<const double> d, double step, std::span<std::int32_t> q) noexcept {
    // Four sums in a fixed order, because a compiler may not reorder one.
    constexpr std::size_t width = 4;
    std::array<double, width> sums = {};
    std::array<std::int32_t, width> any = {};
    std::size_t i = 0;
    for (; i + width <= d.size(); i += width) {
        for (std::size_t k = 0; k < width; ++k) {
            const std::int32_t integer = integer_of(d[i + k], step);
            const double error = d[i + k] - static_cast<double>(integer) * step;
            q[i + k] = integer;
            any[k] |= integer;
            sums[k] += error * error;
        }
    }
    for (; i < d.size(); ++i) {
        q[i] = integer_of(d[i], step);
        const double error = d[i] - static_cast<double>(q[i]) * step;
        any[0] |= q[i];
        sums[0] += error * error;
    }
    return {(sums[0] + sums[1]) + (sums[2] + sums[3]), (any[0] | any[1] | any[2] | any[3]) == 0};
}

void dequantise(std::span<const std::int32_t> q, double step, std::span<double> d) {
    require_step(step);
    require_sizes(d.size(), q.size());
    for (std::size_t i = 0; i < q.size(); ++i) d[i] = static_cast<double>(q[i]) * step;
}

double least_step(std::span<const double> d) {
    constexpr auto most = static_cast<double>(largest_integer);
    return std::max(largest_magnitude(d) / most, std::numeric_limits<double>::min());
}

}  // namespace couplet
