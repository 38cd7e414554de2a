#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "couplet/tensor/matrix.hpp"

namespace couplet {

using Label = std::int64_t;

/// What the neighbours of each query voted for.
struct NeighbourVotes {
    std::vector<Label> classes;  ///< of the known rows, ascending
    Matrix<double> shares;       ///< queries x classes; rows sum to 1
    std::vector<Label> winners;
};

/// Classes of the rows of `queries` by a vote of the k nearest rows of `known`, by Euclidean distance. Among rows at
/// the same distance the first comes first; among classes with as many votes the one of the nearest neighbour wins. k
/// above the number of known rows is that number. Throws InputError when k < 1, when there are no known rows, or when
/// sizes disagree. Magnitudes like 1e160 do no harm. Cost: one product of both matrices.
NeighbourVotes knn_votes(MatrixView<const double> known, std::span<const Label> labels,
                         MatrixView<const double> queries, Index k);

/// The winners alone.
std::vector<Label> knn_classify(MatrixView<const double> known, std::span<const Label> labels,
                                MatrixView<const double> queries, Index k);

/// Part of the labels that agree, 0 for none.
double accuracy(std::span<const Label> truth, std::span<const Label> guessed);

}  // namespace couplet
