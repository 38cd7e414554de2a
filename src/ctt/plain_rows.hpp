#pragma once

#include "couplet/tensor/matrix.hpp"

namespace couplet {

/// Kernels whose order of operations is fixed, for what every party must compute to the same bits: no BLAS, which
/// depends on the processor, and no contraction of products and sums (see CMakeLists.txt).

/// A B.
Matrix<double> plain_product(MatrixView<const double> a, MatrixView<const double> b);

/// M = L Q with orthonormal rows in Q, by Gram and Schmidt, twice, in the order of the rows. A row that those before it
/// span to 1e-12 of its norm adds none to Q. Cost: 4 rows^2 cols flops at most.
struct RowFactors {
    Matrix<double> l;  ///< rows x k; entries beyond the diagonal of a row that adds one are 0
    Matrix<double> q;  ///< k x cols
};
RowFactors factor_rows(MatrixView<const double> m);

/// Norm of a row.
double plain_norm(const double* row, Index size);

}  // namespace couplet
