#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "couplet/tensor/tensor.hpp"

namespace couplet {

/// Classes of record norms, a quarter of a doubling wide: few, so that noise in each still tells where most of them
/// are. One record is in one class, the nearest where its norm has none; empty records are in none.
inline constexpr std::size_t norm_steps = 512;

/// Records by class.
std::vector<std::int64_t> count_norms(const TensorView<const double>& x);

/// The norm that a share q of the records does not exceed, from counts with noise of this deviation: read off the
/// counts near their bulk where the noise is small beside them, otherwise off the log-normal that fits them best.
/// Always a positive number, whatever the counts are.
double noisy_norm_quantile(std::span<const double> counts, double noise, double q);

}  // namespace couplet
