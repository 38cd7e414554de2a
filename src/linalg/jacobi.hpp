#pragma once

#include <vector>

#include "couplet/tensor/matrix.hpp"

namespace couplet {

/// Most rows that are worth it; more of them are LAPACK's.
inline constexpr Index most_jacobi_rows = 64;

/// Turns the rows of F (k x n, k <= n) until they are orthogonal, longest first: what is left is Sigma V^T of F = U
/// Sigma V^T, each row to high accuracy relative to its own length (one-sided Jacobi, Hestenes 1958; Demmel and Veselic
/// 1992). A sweep costs k^2 n flops where the rows are orthogonal already, four times that where they are not. Returns
/// the squared lengths, descending; nothing where the rows do not settle, and F is of no use then.
std::vector<double> orthogonalise_rows(Matrix<double>& f);

}  // namespace couplet
