#include "couplet/secure/norm_histogram.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>

#include "couplet/core/error.hpp"
#include "couplet/privacy/clip.hpp"

namespace couplet {
namespace {

constexpr double classes_per_doubling = 8;
constexpr double middle = norm_classes / 2;

constexpr double most_norm = 0x1.0p127;
constexpr double least_norm = 0x1.0p-127;

}  // namespace

std::size_t norm_class(double norm) {
    const double place = std::floor(classes_per_doubling * std::log2(norm)) + middle;
    return static_cast<std::size_t>(std::clamp(place, 1.0, static_cast<double>(norm_classes - 1)));
}

std::vector<std::uint64_t> norm_histogram(const TensorView<const double>& x, const std::string& who) {
    std::vector<std::uint64_t> counts(norm_classes, 0);
    const auto norms = row_norms(x);
    for (std::size_t i = 0; i < norms.size(); ++i) {
        const double norm = norms[i];
        if (norm == 0) continue;
        if (!(norm >= least_norm && norm <= most_norm)) {
            char found[64];
            std::snprintf(found, sizeof found, "a norm of %.3g (record %zu)", norm, i + 1);
            throw InputError({who, found, "0, or a norm between 1e-38 and 1e38",
                              "Scale the data: sums of such records do not fit the numbers that are masked."});
        }
        ++counts[norm_class(norm)];
    }
    return counts;
}

double class_end(std::size_t norm_class) {
    return norm_class == 0 ? 0 : std::exp2((static_cast<double>(norm_class) + 1 - middle) / classes_per_doubling);
}

std::uint64_t histogram_total(std::span<const std::uint64_t> counts) {
    std::uint64_t sum = 0;
    for (const std::uint64_t count : counts) sum += count;
    return sum;
}

double histogram_quantile(std::span<const std::uint64_t> counts, double q) {
    const double wanted = q * static_cast<double>(histogram_total(counts));
    double seen = 0;
    for (std::size_t i = 0; i < counts.size(); ++i) {
        seen += static_cast<double>(counts[i]);
        if (seen >= wanted && seen > 0) return class_end(i);
    }
    return 0;
}

}  // namespace couplet
