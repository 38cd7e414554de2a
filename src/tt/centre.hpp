#pragma once

#include <vector>

#include "couplet/linalg/products.hpp"
#include "couplet/tensor/buffer.hpp"
#include "couplet/tt/tt_svd.hpp"

namespace couplet {

/// What is left of the tensor between the cores peeled so far: `left` x modes[first, last) x `right`,
/// row-major.
template <Real T>
struct Centre {
    const T* data = nullptr;
    Buffer<T> owned;  ///< empty while data is the caller's
    std::vector<Index> modes;
    std::size_t first = 0;
    std::size_t last = 0;
    Index left = 1;
    Index right = 1;

    Index size() const {
        Index total = left * right;
        for (std::size_t n = first; n < last; ++n) total *= modes[n];
        return total;
    }
    MatrixView<const T> split_left(Index own) const { return {data, own, size() / own}; }
    MatrixView<const T> split_right(Index own) const { return {data, size() / own, own}; }
};

/// One end that could be peeled next.
struct End {
    Side side;
    std::size_t count = 1;  ///< modes in the group
    Index own = 1;          ///< bond times their sizes
};

/// Limit of the bond that the (j+1)-th mode from the outside closes at this end of the centre.
template <Real T>
const BondLimit& limit_at(const Centre<T>& centre, const std::vector<BondLimit>& limits, Side side, std::size_t j) {
    return limits[side == Side::left ? centre.first + j : centre.last - 2 - j];
}

/// The end whose Gram matrix is smaller: it costs least and, being the short side, never needs the long side's vectors.
template <Real T>
End choose_end(const Centre<T>& centre, const std::vector<BondLimit>& limits);

/// Replaces the centre by its image under the map of a peeled end. In place when the centre owns its memory:
/// every block is read before the smaller result is written over it.
template <Real T>
void project(Centre<T>& centre, const End& end, const Matrix<double>& map, const ConsumedSink& consumed);

/// Multiplies everything by a power of two, into memory of its own.
template <Real T>
void rescale(Centre<T>& centre, int exponent);

/// All of a tensor as the centre, modes of size 1 left out; of ones alone the first stays.
template <Real T>
Centre<T> start_centre(const T* data, const Shape& shape);

}  // namespace couplet
