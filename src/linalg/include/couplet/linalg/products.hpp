#pragma once

#include "couplet/tensor/matrix.hpp"

namespace couplet {

enum class Op { none, transpose };

/// Which side of a matrix: left = its rows (A A^T), right = its columns (A^T A).
enum class Side { left, right };

/// C = alpha op(A) op(B) + beta C. C must not overlap A or B. Splits the work in a fixed way over threads, so
/// that the result does not depend on their number. Throws InputError when shapes disagree. beta = 0 never
/// reads C.
template <Real T>
void multiply(MatrixView<const T> a, Op op_a, MatrixView<const T> b, Op op_b, MatrixView<T> c, T alpha = 1, T beta = 0);

/// op(A) op(B) as a new matrix.
template <Real T>
Matrix<T> product(MatrixView<const T> a, MatrixView<const T> b, Op op_a = Op::none, Op op_b = Op::none);

/// A^T A (right) or A A^T (left), both triangles filled, accumulated in double also for float data.
/// Cost: |A| times the short size flops, one read of A. May overflow to infinity or underflow: the caller
/// scales.
template <Real T>
Matrix<double> gram(MatrixView<const T> a, Side side);

/// Sum of squares, in double, in a fixed order.
template <Real T>
double squared_norm(MatrixView<const T> a);

/// Largest magnitude; 0 for an empty matrix, NaN or infinity when there is one.
template <Real T>
double max_magnitude(MatrixView<const T> a);

}  // namespace couplet
