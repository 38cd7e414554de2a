#pragma once

#include <vector>

#include "couplet/tensor/matrix.hpp"

namespace couplet {

struct SymmetricEigen {
    std::vector<double> values;  ///< descending
    Matrix<double> vectors;      ///< n x count: column j belongs to values[j], orthonormal, sign rule applied
};

/// The `count` largest eigenvalues of a symmetric matrix and their eigenvectors (count < 0: all).
/// Cost: 4/3 n^3 + 2 n^2 count flops; only the wanted vectors are computed. Throws RunError if LAPACK does not converge.
SymmetricEigen symmetric_eigen(MatrixView<const double> a, Index count = -1);

/// All eigenvalues, descending, without vectors.
std::vector<double> symmetric_eigenvalues(MatrixView<const double> a);

}  // namespace couplet
