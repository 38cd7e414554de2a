#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "couplet/core/random.hpp"
#include "couplet/tensor/matrix.hpp"

namespace couplet::support {

struct Integers {
    Index rows = 0;
    Index cols = 0;
    std::vector<std::int32_t> values;

    MatrixView<const std::int32_t> view() const { return {values.data(), rows, cols}; }
    MatrixView<std::int32_t> view() { return {values.data(), rows, cols}; }
};

inline Integers zeros(Index rows, Index cols) {
    return {rows, cols, std::vector<std::int32_t>(static_cast<std::size_t>(rows * cols), 0)};
}

/// Rows that decay and columns of different scales, as singular vectors of real data quantised with one step.
inline Integers decaying_block(Index rows, Index cols, double largest, std::uint64_t seed) {
    Random random(seed);
    Integers block = zeros(rows, cols);
    std::vector<double> scales;
    for (Index j = 0; j < cols; ++j) scales.push_back(std::exp(1.5 * random.normal()));
    for (Index i = 0; i < rows; ++i) {
        const double row = largest / static_cast<double>(1 + i);
        for (Index j = 0; j < cols; ++j) {
            block.view()(i, j) =
                static_cast<std::int32_t>(std::trunc(row * scales[static_cast<std::size_t>(j)] * random.normal()));
        }
    }
    return block;
}

/// Bits of the numbers if each were coded with the share of its value in the block.
inline double order0_bytes(const Integers& block) {
    std::vector<std::int32_t> sorted = block.values;
    std::sort(sorted.begin(), sorted.end());
    double bits = 0;
    for (std::size_t first = 0; first < sorted.size();) {
        std::size_t last = first;
        while (last < sorted.size() && sorted[last] == sorted[first]) ++last;
        const auto count = static_cast<double>(last - first);
        bits -= count * std::log2(count / static_cast<double>(sorted.size()));
        first = last;
    }
    return bits / 8;
}

}  // namespace couplet::support
