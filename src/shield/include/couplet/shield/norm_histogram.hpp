#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "couplet/tensor/tensor.hpp"

namespace couplet {

/// Counts of record norms in classes an eighth of a doubling wide: what a secure federation adds up before its sums, to
/// know how many patients it has, where to clip and how large a sum can become. Class 0 holds norms of zero.
inline constexpr std::size_t norm_classes = 2048;

std::vector<std::uint64_t> norm_histogram(const TensorView<const double>& x);
/// Upper end of a class.
double class_end(std::size_t norm_class);
/// Records in all classes.
std::uint64_t histogram_total(std::span<const std::uint64_t> counts);
/// Upper end of the class within which the share q of the records lies; 0 without records of any length.
double histogram_quantile(std::span<const std::uint64_t> counts, double q);

}  // namespace couplet
