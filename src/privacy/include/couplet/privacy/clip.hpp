#pragma once

#include <vector>

#include "couplet/tensor/tensor.hpp"

namespace couplet {

/// Norms of the patients' records, also where squares leave the range of double.
std::vector<double> row_norms(const TensorView<const double>& x);

/// The quantile q of the values, 0 <= q <= 1: the smallest value that at least a share q does not exceed; 0 for none.
double quantile(std::vector<double> values, double q);

struct Clipped {
    Tensor<double> tensor;  ///< labels are not kept
    Index rows = 0;         ///< that were longer
    double lost2 = 0;       ///< squared norm of what was cut off
};

/// Shortens records longer than `norm` to that length. Throws InputError unless norm is positive and finite.
Clipped clip_rows(const TensorView<const double>& x, double norm);

/// The largest leverage of a patient within its client, in the best rank-`rank` row space: 1 means that a direction of
/// the space is one patient. Cost: one truncated SVD.
double largest_leverage(const TensorView<const double>& x, Index rank);

}  // namespace couplet
