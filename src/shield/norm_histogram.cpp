#include "couplet/shield/norm_histogram.hpp"

#include <algorithm>
#include <cmath>

#include "couplet/privacy/clip.hpp"

namespace couplet {
namespace {

constexpr double classes_per_doubling = 8;
constexpr double middle = norm_classes / 2;

std::size_t class_of(double norm) {
    if (norm == 0) return 0;
    const double place = std::floor(classes_per_doubling * std::log2(norm)) + middle;
    return static_cast<std::size_t>(std::clamp(place, 1.0, static_cast<double>(norm_classes - 1)));
}

}  // namespace

std::vector<std::uint64_t> norm_histogram(const TensorView<const double>& x) {
    std::vector<std::uint64_t> counts(norm_classes, 0);
    for (const double norm : row_norms(x)) ++counts[class_of(norm)];
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
