#pragma once

#include "couplet/linalg/products.hpp"
#include "couplet/tensor/matrix.hpp"

namespace couplet {

/// Factor without its orthogonal part. right: R (min(rows, cols) x cols, upper trapezoidal) with A = Q R;
/// left: L^T (min(rows, cols) x rows, upper trapezoidal) with A = L Q. Row blocks are folded into triangles
/// that merge in a fixed order: one read of A, 2 |A| m flops for short side m, Q is never formed. float data
/// is factored in double.
template <Real T>
Matrix<double> triangular_factor(MatrixView<const T> a, Side side);

/// Replaces the columns of A (rows >= cols) by an orthonormal basis whose first k columns span the first k of
/// A, for every k (Householder, or CholeskyQR2 where the columns are independent enough). Returns R with A_old = A_new
/// R; its diagonal is >= 0. A column that depends on those before it leaves a zero on R's diagonal and a basis vector
/// orthogonal to the others.
template <Real T>
Matrix<T> orthonormalise_columns(MatrixView<T> a);

/// An orthonormal basis (n x q, q = 0 allowed) extended by what the columns of `block` add to it: projected out twice,
/// directions below 1e-6 of the block's longest column dropped. A block inside the space adds nothing.
Matrix<double> extend_basis(const Matrix<double>& basis, Matrix<double> block);

}  // namespace couplet
