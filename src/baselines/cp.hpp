#pragma once

#include <cstdint>
#include <vector>

#include "couplet/ctt/blocks.hpp"
#include "couplet/tensor/tensor.hpp"

namespace couplet {

/// A CP model [[A_1, ..., A_N]]: factor n is I_n x R. Modes count from 0 here.
using Factors = std::vector<Matrix<double>>;

Factors clone(const Factors& factors);

/// A_2 ... A_N with normal entries and columns of norm 1, the same for everybody with this seed; A_1 is left empty.
Factors random_shared_factors(const Shape& shape, Index rank, std::uint64_t seed);

/// Khatri-Rao product of modes begin, ..., end - 1, rows in the order of row-major storage (last mode fastest):
/// (I_begin ... I_{end-1}) x R. No modes give one row of ones.
Matrix<double> khatri_rao(const Factors& factors, Index begin, Index end);

/// H^T H for the Khatri-Rao product H of all modes but `mode` (-1: of all): the entry-wise product of the factors' Gram
/// matrices, R x R.
Matrix<double> khatri_rao_gram(const Factors& factors, Index mode);

/// X_(n) H, I_n x R, H as above. One pass over the data in matrix products, no unfolding is copied: a product with the
/// modes to the right, then (unless n is the first) weighted sums over those to the left, in blocks that stay in cache.
/// 2 |X| R flops.
Matrix<double> mttkrp(TensorView<const double> x, const Factors& factors, Index mode);

/// Sum over entries of A times B.
double inner_product(const Matrix<double>& a, const Matrix<double>& b);

/// a += scale * b.
void add_scaled(Matrix<double>& a, double scale, const Matrix<double>& b);

/// Largest eigenvalue of a symmetric matrix that is not negative definite; 0 for an empty one, NaN for one that is not
/// finite.
double largest_eigenvalue(const Matrix<double>& a);

/// B (A + shift I)^+ for symmetric positive semidefinite A (R x R) and B (I x R); eigenvalues below 1e-12 of the
/// largest count as zero. NaN where A or the shift is not finite.
Matrix<double> solve_right(const Matrix<double>& b, const Matrix<double>& a, double shift = 0);

/// The shared factors as a train with open left bond R and diagonal cores: A_1 times it is the model. Exact.
TensorTrain<double> factor_train(const Factors& factors);

}  // namespace couplet
