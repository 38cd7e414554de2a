#pragma once

#include "couplet/tensor/matrix.hpp"

namespace couplet {

/// Rotates the rows of `rows` (R x P) in place so that each has few large entries: Kaiser's varimax criterion, the sum
/// over rows of the variance of their squared entries, by planar rotations until none turns by more than 1e-7. What the
/// rows span does not change, and orthonormal rows stay so. Returns the orthogonal T (R x R) with rows_new = T^T
/// rows_old: coordinates in the old rows become coordinates in the new ones by G T. Cost: about 12 R^2 P flops a sweep,
/// 5 to 30 sweeps.
Matrix<double> varimax(Matrix<double>& rows);

}  // namespace couplet
