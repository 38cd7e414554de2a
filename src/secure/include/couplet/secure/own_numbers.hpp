#pragma once

#include "couplet/secure/shield_plan.hpp"
#include "couplet/tensor/tensor.hpp"

namespace couplet {

/// What a party puts into a masked sum over the data: its own sum over its patients, whose records are clipped as the
/// plan says, with its part of the noise, as integers of the ring. Throws InputError for numbers beyond the plan's
/// bound.
std::vector<std::uint64_t> own_numbers(const ShieldPlan& plan, const TensorView<const double>& clipped,
                                       SubspaceIteration::Want want, const Matrix<double>& basis);

/// How many there are.
Index count_own_numbers(SubspaceIteration::Want want, const Matrix<double>& basis, const Shape& features);

}  // namespace couplet
