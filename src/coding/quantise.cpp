#include "couplet/coding/quantise.hpp"

#include <algorithm>
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

}  // namespace

void quantise(std::span<const double> d, double step, std::span<std::int32_t> q) {
    require_step(step);
    require_sizes(d.size(), q.size());
    constexpr auto most = static_cast<double>(largest_integer);
    for (std::size_t i = 0; i < d.size(); ++i) {
        const double size = std::floor(std::abs(d[i]) / step + rounding_offset);
        if (!(size <= most)) {
            throw InputError({"number to quantise", std::to_string(d[i]) + " at a step of " + std::to_string(step),
                              "at most 2^30 steps", "Use a larger step."});
        }
        const auto integer = static_cast<std::int32_t>(size);
        q[i] = d[i] < 0 ? -integer : integer;
    }
}

void dequantise(std::span<const std::int32_t> q, double step, std::span<double> d) {
    require_step(step);
    require_sizes(d.size(), q.size());
    for (std::size_t i = 0; i < q.size(); ++i) d[i] = static_cast<double>(q[i]) * step;
}

double least_step(std::span<const double> d) {
    double largest = 0;
    for (const double value : d) largest = std::max(largest, std::abs(value));
    constexpr auto most = static_cast<double>(largest_integer);
    return std::max(largest / most, std::numeric_limits<double>::min());
}

}  // namespace couplet
