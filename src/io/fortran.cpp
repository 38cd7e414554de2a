#include "couplet/io/fortran.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "couplet/core/threads.hpp"

namespace couplet {
namespace {

/// Size and stride of one mode in an order of elements.
struct Stride {
    Index size = 1;
    Index step = 0;
};

/// Offset of the k-th multi-index of some modes, those listed first varying fastest.
Index offset_of(Index k, const std::vector<Stride>& modes) {
    Index offset = 0;
    for (const Stride& mode : modes) {
        offset += k % mode.size * mode.step;
        k /= mode.size;
    }
    return offset;
}

std::vector<Stride> fortran_strides(const Shape& shape, Index begin, Index end) {
    std::vector<Stride> strides;
    for (Index n = begin; n < end; ++n) strides.push_back({shape[n], shape.product(0, n)});
    return strides;
}

std::vector<Stride> row_major_strides(const Shape& shape, Index begin, Index end) {
    std::vector<Stride> strides;
    for (Index n = begin; n < end; ++n) strides.push_back({shape[n], shape.product(n + 1, shape.order())});
    return strides;
}

}  // namespace

template <Real T>
Tensor<T> from_fortran(const std::byte* source, const Shape& shape) {
    // 32 doubles are four cache lines: both sides of a tile use whole lines and stay in the first-level
    // cache.
    constexpr Index tile = 32;
    constexpr auto item = static_cast<Index>(sizeof(T));
    Tensor<T> result(shape);
    if (result.size() == 0) return result;

    // Leading modes ("columns") are contiguous in the source, trailing ones ("rows") in the result; enough of
    // each to fill a tile are grouped, and the modes in between are looped over.
    const Index order = shape.order();
    Index left = 0;
    while (left < order && shape.product(0, left) < tile) ++left;
    Index right = order;
    while (right > left && shape.product(right, order) < tile) --right;
    const Index column_count = shape.product(0, left);
    const Index middle_count = shape.product(left, right);
    const Index row_count = shape.product(right, order);
    const Index column_tiles = (column_count + tile - 1) / tile;

    const auto column_to = row_major_strides(shape, 0, left);
    const auto middle_from = fortran_strides(shape, left, right);
    const auto middle_to = row_major_strides(shape, left, right);
    auto row_from = fortran_strides(shape, right, order);
    std::reverse(row_from.begin(), row_from.end());

    parallel_for(middle_count * column_tiles, [&](Index task) {
        const Index middle = task / column_tiles;
        const Index first = task % column_tiles * tile;
        const Index last = std::min(first + tile, column_count);
        const std::byte* const from = source + offset_of(middle, middle_from) * item;
        T* const to = result.data() + offset_of(middle, middle_to);
        std::array<Index, tile> rows{};
        for (Index r0 = 0; r0 < row_count; r0 += tile) {
            const Index count = std::min(tile, row_count - r0);
            for (Index r = 0; r < count; ++r) rows[static_cast<std::size_t>(r)] = offset_of(r0 + r, row_from);
            for (Index c = first; c < last; ++c) {
                T* const line = to + offset_of(c, column_to) + r0;
                for (Index r = 0; r < count; ++r) {
                    std::memcpy(line + r, from + (rows[static_cast<std::size_t>(r)] + c) * item, sizeof(T));
                }
            }
        }
    });
    return result;
}

template Tensor<float> from_fortran(const std::byte*, const Shape&);
template Tensor<double> from_fortran(const std::byte*, const Shape&);

}  // namespace couplet
