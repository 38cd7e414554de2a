#pragma once

#include <vector>

#include "couplet/tensor/matrix.hpp"

/// Linear algebra with a fixed order of operations and without BLAS, whose sums depend on the processor.
namespace couplet::plain {

/// C += op(A) B, each entry summed from the first term to the last, whatever the vector unit. `turned`: op(A) = A^T.
/// About 8 (AVX2) to 20 (AVX-512) GF/s a core.
void add_product(MatrixView<const double> a, bool turned, MatrixView<const double> b, MatrixView<double> c);
Matrix<double> product(MatrixView<const double> a, MatrixView<const double> b);
/// A^T B.
Matrix<double> turned_product(MatrixView<const double> a, MatrixView<const double> b);

/// Sum of the products of entries.
double dot(MatrixView<const double> a, MatrixView<const double> b);

struct Eigen {
    std::vector<double> values;  ///< descending
    Matrix<double> vectors;      ///< columns; the entry of largest magnitude of each is positive
};

/// All eigenvalues and eigenvectors of a symmetric matrix by cyclic Jacobi rotations. Cost: about 60 n^3.
Eigen eigen(MatrixView<const double> a);

/// f(A) = V f(D) V^T of a positive semidefinite A, for f(d) = d^power. Eigenvalues below 1e-12 of the largest count as
/// zero, also for negative powers.
Matrix<double> power(const Eigen& eigen, double exponent);

/// X A^-1 for symmetric positive semidefinite A (Cholesky); a pivot that is rounding leaves a zero column.
Matrix<double> divide(MatrixView<const double> x, MatrixView<const double> a);

/// Makes the columns orthonormal (Gram-Schmidt, twice); columns that depend on those before become zero.
void orthonormalise(Matrix<double>& columns);

}  // namespace couplet::plain
