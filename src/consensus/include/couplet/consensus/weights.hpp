#pragma once

#include <string>
#include <string_view>

#include "couplet/consensus/graph.hpp"

namespace couplet {

/// Mixing matrices: K x K, symmetric, every row and column with the sum 1, zero between nodes that are not
/// linked. Entries may be negative (best_constant_weights on a star): averaging needs the sums and
/// second_modulus() < 1 only.

/// Paper eq. M: 1/K for every link, (K - d_i)/K on the diagonal.
Matrix<double> paper_weights(const Graph& graph);
/// The weights of the paper's experiments: (M + M^T)/2 over its row sum, M = magic_square(K). Every two nodes
/// exchange, so throws InputError unless the graph is complete, and for K = 2.
Matrix<double> magic_weights(const Graph& graph);
/// 1/(1 + max(d_i, d_j)) for every link.
Matrix<double> metropolis_weights(const Graph& graph);
/// I - 2 L/(l_2 + l_max): the constant link weight with the least second modulus (Xiao and Boyd 2004). Cost:
/// the eigenvalues of the Laplacian. Throws InputError for a disconnected graph.
Matrix<double> best_constant_weights(const Graph& graph);
/// A text file of K rows of K numbers (blanks or commas between, '#' starts a comment). Throws InputError
/// naming the entry unless the matrix is K x K, finite, symmetric and with row sums 1 (both within 1e-9) and
/// exactly zero between nodes that are not linked. Negative weights are allowed. What rounding in the file
/// leaves is removed: w_ij and w_ji become their mean, and the diagonal 1 minus the rest of the row.
Matrix<double> read_weights(const std::string& path, const Graph& graph);

/// The weights a user names: paper, magic, metropolis, best-constant or file:PATH.
Matrix<double> make_weights(std::string_view spec, const Graph& graph);

/// The second largest modulus among the eigenvalues of symmetric weights with row sums 1, the paper's
/// lambda_2; 0 for K = 1. Computed as the largest modulus of W - 11^T/K, so that 1 itself is found when W
/// does not average.
double second_modulus(MatrixView<const double> weights);

}  // namespace couplet
