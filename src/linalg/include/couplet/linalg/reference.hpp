#pragma once

#include <vector>

#include "couplet/tensor/matrix.hpp"

/// Slow kernels that can be checked by hand; the fast ones are tested against them.
namespace couplet::reference {

/// A B by three loops.
Matrix<double> multiply(MatrixView<const double> a, MatrixView<const double> b);

struct Svd {
    Matrix<double> u;           ///< rows x k, k = min(rows, cols)
    std::vector<double> sigma;  ///< descending
    Matrix<double> v;           ///< cols x k
};

/// One-sided Jacobi SVD (Hestenes 1958): small singular values to full relative accuracy. Columns of U for
/// zero singular values are zero. O(n^2 m) a sweep.
Svd svd(MatrixView<const double> a);

}  // namespace couplet::reference
