#pragma once

#include <span>
#include <vector>

#include "couplet/tensor/matrix.hpp"

namespace couplet {

/// Symmetric matrices as vectors of the same norm: the upper triangle by rows, off-diagonal numbers times sqrt(2).
/// Noise of one deviation on these numbers is what a change of the matrix (in Frobenius norm) needs; off the diagonal
/// it is smaller by sqrt(2) than noise on the matrix would be.
std::vector<double> pack_symmetric(MatrixView<const double> a);
/// Requires n (n + 1) / 2 numbers.
Matrix<double> unpack_symmetric(std::span<const double> packed, Index n);

/// A Gram matrix that was unpacked from numbers with noise of this variance, cleaned of what the noise explains. Off
/// the diagonal the numbers of a population scatter about zero like tau2 d_i d_j, d the diagonal; tau2 follows from the
/// matrix itself (weighted moments), and every number is multiplied by tau2 d_i d_j / (tau2 d_i d_j + variance / 2),
/// its best linear estimate. `diagonal`: d where it is known better than from the matrix; negative numbers count as
/// zero. The result need not be positive semidefinite.
Matrix<double> shrink_gram(MatrixView<const double> noisy, double variance, std::span<const double> diagonal);

}  // namespace couplet
