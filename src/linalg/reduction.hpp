#pragma once

#include <vector>

#include "couplet/tensor/matrix.hpp"

namespace couplet {

/// A = Q T Q^T with T tridiagonal and Q = H_0 H_1 ... H_{n-2}, H_i = I - tau[i] v v^T.
struct Reduction {
    Index order = 0;
    /// At least order x order: row i holds the vector of H_i from column i + 2 on; its entry i + 1 is 1, those before
    /// are 0.
    Matrix<double> reflectors;
    std::vector<double> diagonal;      ///< of T, order
    std::vector<double> off_diagonal;  ///< of T, order - 1
    std::vector<double> tau;           ///< order - 1
};

/// Householder reduction of a symmetric matrix (both triangles filled) to tridiagonal form. Any magnitude will do: the
/// matrix is brought to norm 1 by a power of two first. Bit-identical for every thread count.
///
/// Cost: 4/3 n^3 flops. While the rest of the matrix is small enough for caches, each column takes one pass over its
/// upper triangle, which applies the rank-2 update of the column before and multiplies by the new vector while the
/// numbers are in registers; a larger rest is updated in blocks of columns by matrix products. Rows are shared out over
/// threads where a column is worth the wait for them.
Reduction tridiagonalise(MatrixView<const double> a);

/// Z <- H_0 H_1 ... H_{n-2} Z, one reflector after the other: for orders so small that Z stays in the first-level
/// cache. Cost: 2 n^2 columns flops.
void apply_one_by_one(const Matrix<double>& reflectors, const std::vector<double>& tau, Matrix<double>& z);

}  // namespace couplet
