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
/// matrix itself (weighted moments), and every number is multiplied by (tau2 d_i d_j / (tau2 d_i d_j + variance / 2))
/// to the power of `strength`: 1 is its best linear estimate. `diagonal`: d where it is known better than from the
/// matrix; negative numbers count as zero. The result need not be positive semidefinite.
Matrix<double> shrink_gram(MatrixView<const double> noisy, double variance, std::span<const double> diagonal,
                           double strength = 1);

/// Shrunk as strongly as serves its leading eigenvectors best. Sparse records are best shrunk entry by entry; where a
/// few smooth patterns make all entries the eigenvectors are cleaner without. Which it is the matrix itself tells:
/// noise that is added to one copy and taken from another leaves two independent ones, eigenvectors of the first are
/// judged by the energy that the second has along them. That noise follows from a fixed seed: everybody comes to the
/// same. `directions`: eigenvectors that count. Cost: 13 eigenproblems, 4 for more than 300 rows.
Matrix<double> clean_gram(MatrixView<const double> noisy, double variance, Index directions);

}  // namespace couplet
