#pragma once

#include "couplet/ctt/subspace.hpp"

namespace couplet {

/// Features from one block of sums alone, Y = G Q with G = sum_k X_k^T X_k: those of its Nystroem approximation
/// Y (Q^T Y)^+ Y^T. For a job whose later sums cannot be computed: to compute them with fewer clients would show what
/// the others contributed. `deviation`: as in SubspaceIteration::take.
Features features_from_block(const Job& job, const Shape& features, const Matrix<double>& q, const Matrix<double>& y,
                             double deviation = 0);

}  // namespace couplet
