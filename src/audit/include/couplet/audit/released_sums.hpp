#pragma once

#include <optional>
#include <vector>

#include "couplet/tensor/matrix.hpp"

namespace couplet {

/// Sums over records as whoever receives them holds them: Y = sum over records x of s x (x^T Q), s = min(1, clip^2 /
/// |x|^2). Masked jobs show a block for every pass, side by side; a client's compressed rows are such sums too.
struct ReleasedSums {
    Matrix<double> basis;             ///< Q, P x d, which everybody knows
    Matrix<double> sums;              ///< Y, P x d
    std::vector<double> precision;    ///< of every column: how far its numbers may be off
    std::optional<double> clip = {};  ///< of record norms
};

}  // namespace couplet
