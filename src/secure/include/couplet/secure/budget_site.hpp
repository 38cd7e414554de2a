#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "couplet/privacy/noise.hpp"
#include "couplet/secure/budget.hpp"
#include "couplet/tensor/tensor.hpp"

namespace couplet {

/// What a site adds to the sum of the present stage: the sum over its patients as integers of the step, rounded at
/// random, with its share of discrete Gaussian noise. Pure but for `noise`, which must be fresh and secret
/// (NoiseSource(Secret::random())), or follow from a secret that the site keeps if it may be asked for the same sum
/// again: other noise for the same sum would be another release. x: patients x the features in the order of the job,
/// records as they are. Throws InputError for another shape, and when the job is done.
/// Cost: one read and, for N = 3, about I2 I3 (I2 + I3) flops a patient for the modes, I2 I3 r + m^2 for the core.
std::vector<std::int64_t> site_sum(const BudgetJob& job, const TensorView<const double>& x, NoiseSource& noise);

/// The same without the share, where somebody who is trusted adds the noise to the sum of all.
std::vector<std::int64_t> rounded_sum(const BudgetJob& job, const TensorView<const double>& x, NoiseSource& rounding);
/// Adds one share of the present stage's noise.
void add_share(const BudgetJob& job, std::span<std::int64_t> numbers, NoiseSource& noise);

/// Records times 1 / clip, and those that are then longer than 1 shortened to 1: what all sums but the counts are of.
Tensor<double> unit_records(const TensorView<const double>& x, double clip);

}  // namespace couplet
