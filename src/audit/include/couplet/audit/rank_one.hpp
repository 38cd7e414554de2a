#pragma once

#include <cstdint>

#include "couplet/tensor/matrix.hpp"
#include "couplet/tensor/shape.hpp"

namespace couplet {

struct RankOneOptions {
    Index starts_per_row = 12;  ///< random starts for every dimension of the row space
    int iterations = 100;       ///< of one start, at most
    double least_share = 0.5;   ///< of its square that must lie in the row space, for a candidate to count
    double same = 0.98;         ///< candidates that agree more than this are one
    std::uint64_t seed = 0;
};

/// Searches the row space of `rows` (R x I2 ... IN) for rank-one matrices I2 x (I3 ... IN): alternating projections
/// from random starts. Where a patient is an outer product (physiology by habits, a beat by itself), these are the
/// patients. Returns the distinct ones found, rows of norm 1, those that lie deepest in the row space first, at most 2
/// R; none for a single feature mode, where every row is of rank one. Cost: 4 R P flops an iteration of a start.
Matrix<double> rank_one_rows(MatrixView<const double> rows, const Shape& features, const RankOneOptions& options = {});

}  // namespace couplet
