#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "couplet/tensor/tensor.hpp"

namespace couplet {

/// Counts of record norms in classes an eighth of a doubling wide: what a secure federation adds up before its sums, to
/// know where to clip and how large a sum can become. Empty records are not counted: they would lower the norm at which
/// the others are clipped. Class 0 stays empty.
inline constexpr std::size_t norm_classes = 2048;

/// Throws InputError, naming `who`, for a record whose norm has no class: beyond 2^127 or below 2^-127.
std::vector<std::uint64_t> norm_histogram(const TensorView<const double>& x, const std::string& who = "data");
/// The class of a norm, the nearest where it has none.
std::size_t norm_class(double norm);
/// Upper end of a class.
double class_end(std::size_t norm_class);
/// Records in all classes.
std::uint64_t histogram_total(std::span<const std::uint64_t> counts);
/// Upper end of the class within which the share q of the records lies; 0 without records of any length.
double histogram_quantile(std::span<const std::uint64_t> counts, double q);

}  // namespace couplet
