#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "couplet/linalg/svd.hpp"

namespace couplet {

struct Cut {
    Index rank;
    double tail2;
    bool limited;
};

/// Smallest rank whose tail is within max_tail, capped; `squares` descending and complete. The tail may be larger than
/// it looks by `margin2`, which counts in it where anything is cut.
inline Cut choose_rank(const std::vector<double>& squares, const SvdOptions& options, double margin2) {
    const Index n = static_cast<Index>(squares.size());
    const double allowed = options.max_tail * options.max_tail - margin2;
    Index rank = n;
    double tail2 = 0;
    while (rank > 1 && tail2 + squares[static_cast<std::size_t>(rank - 1)] <= allowed) {
        tail2 += squares[static_cast<std::size_t>(--rank)];
    }
    const bool limited = rank > options.max_rank;
    while (rank > options.max_rank) tail2 += squares[static_cast<std::size_t>(--rank)];
    return {rank, rank < n ? tail2 + margin2 : 0, limited};
}

inline std::vector<double> roots(const std::vector<double>& squares, Index count) {
    std::vector<double> result;
    for (Index i = 0; i < count; ++i) result.push_back(std::sqrt(std::max(0.0, squares[static_cast<std::size_t>(i)])));
    return result;
}

}  // namespace couplet
