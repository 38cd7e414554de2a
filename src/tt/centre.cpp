#include "centre.hpp"

#include <algorithm>

#include "couplet/core/threads.hpp"
#include "couplet/linalg/magnitude.hpp"

namespace couplet {
namespace {

/// Groups tiny modes at an end until they are worth a pass over the data: twice the rank, at least 10.
template <Real T>
End group_end(const Centre<T>& centre, Side side, const std::vector<BondLimit>& limits) {
    constexpr Index least = 10;
    constexpr Index unknown_rank = 16;
    const std::size_t available = centre.last - centre.first - 1;
    const auto size_at = [&](std::size_t i) {
        return side == Side::left ? centre.modes[centre.first + i] : centre.modes[centre.last - 1 - i];
    };
    const auto worth = [&](std::size_t j) {
        const Index rank = limit_at(centre, limits, side, j).max_rank;
        return std::max(least, 2 * (rank == unlimited_rank ? unknown_rank : std::min(rank, centre.size())));
    };
    End end{side, 1, (side == Side::left ? centre.left : centre.right) * size_at(0)};
    while (end.count < available && end.own < worth(end.count - 1)) {
        const Index grown = end.own * size_at(end.count);
        if (grown > centre.size() / grown) break;  // the group must stay the short side
        end.own = grown;
        ++end.count;
    }
    return end;
}

/// out = V^T source at a left end, source V at a right one. float data is multiplied in double and rounded once: the
/// certificate counts one rounding a projection, whatever the length of its sums.
template <Real T>
void project_block(MatrixView<const T> source, Side side, const Matrix<double>& v, MatrixView<T> out) {
    if constexpr (std::same_as<T, double>) {
        if (side == Side::left) {
            multiply<double>(v.view(), Op::transpose, source, Op::none, out);
        } else {
            multiply<double>(source, Op::none, v.view(), Op::none, out);
        }
    } else {
        const auto wide = convert<double>(source);
        const auto image =
            side == Side::left ? product<double>(v.view(), wide.view(), Op::transpose) : product(wide.view(), v.view());
        for (Index i = 0; i < out.rows; ++i) scale_by_power(image.view().row(i), out.cols, 0, out.row(i));
    }
}

/// Rows or columns of the other side that are projected at once.
constexpr Index block = 512;

/// The image of a centre that is the caller's. When it is nearly as large as the centre itself, the caller is told
/// which elements will not be read again, so that both need not be in memory at once.
template <Real T>
Buffer<T> project_copy(const Centre<T>& centre, const End& end, const Matrix<double>& v, const ConsumedSink& consumed) {
    const Index rank = v.cols();
    const Index other = centre.size() / end.own;
    const bool left = end.side == Side::left;
    Buffer<T> target(other * rank);
    const auto project_range = [&](Index first, Index count) {
        if (left) {
            project_block<T>(centre.split_left(end.own).cols_from(first, count), end.side, v,
                             {target.data() + first, rank, count, other});
        } else {
            project_block<T>(centre.split_right(end.own).rows_from(first, count), end.side, v,
                             {target.data() + first * rank, count, rank});
        }
    };
    const bool large = consumed && 2 * rank > end.own;
    const Index step = large ? std::max<Index>(8192, other / 32) : other;
    for (Index first = 0; first < other; first += step) {
        const Index count = std::min(step, other - first);
        if constexpr (std::same_as<T, double>) {
            project_range(first, count);
        } else {
            parallel_for((count + block - 1) / block,
                         [&](Index b) { project_range(first + b * block, std::min(block, count - b * block)); });
        }
        for (Index i = 0; large && left && i < end.own; ++i) consumed(i * other + first, count);
        if (large && !left) consumed(first * end.own, count * end.own);
    }
    return target;
}

}  // namespace

template <Real T>
End choose_end(const Centre<T>& centre, const std::vector<BondLimit>& limits) {
    const End left = group_end(centre, Side::left, limits);
    const End right = group_end(centre, Side::right, limits);
    return left.own < right.own ? left : right;
}

template <Real T>
void project(Centre<T>& centre, const End& end, const Matrix<double>& map, const ConsumedSink& consumed) {
    const Index rank = map.cols();
    const Index other = centre.size() / end.own;
    const bool in_place = centre.owned.size() > 0;
    if (!in_place) {
        centre.owned = project_copy(centre, end, map, consumed);
    } else {
        constexpr Index parts_most = 16;
        const Index parts = std::clamp<Index>(other / block, 1, parts_most);
        T* data = centre.owned.data();
        parallel_for(parts, [&](Index p) {
            const Index end_of_part = other * (p + 1) / parts;
            Matrix<T> image(end.side == Side::left ? rank : block, end.side == Side::left ? block : rank);
            for (Index i0 = other * p / parts; i0 < end_of_part; i0 += block) {
                const Index count = std::min(block, end_of_part - i0);
                if (end.side == Side::left) {
                    const MatrixView<const T> source(data + i0, end.own, count, other);
                    const MatrixView<T> out(image.data(), rank, count, block);
                    project_block(source, end.side, map, out);
                    for (Index i = 0; i < rank; ++i) std::copy_n(out.row(i), count, data + i * other + i0);
                } else {
                    const Index start = other * p / parts;
                    const MatrixView<const T> source(data + i0 * end.own, count, end.own);
                    project_block(source, end.side, map, MatrixView<T>(image.data(), count, rank));
                    std::copy_n(image.data(), count * rank, data + start * end.own + (i0 - start) * rank);
                }
            }
        });
        if (end.side == Side::right) {
            for (Index p = 1; p < parts; ++p) {
                const Index start = other * p / parts;
                const Index rows = other * (p + 1) / parts - start;
                std::copy_n(data + start * end.own, rows * rank, data + start * rank);
            }
        }
    }
    centre.data = centre.owned.data();
}

template <Real T>
void rescale(Centre<T>& centre, int exponent) {
    if (centre.owned.size() == 0) centre.owned = Buffer<T>(centre.size());
    const Index size = centre.size();
    scale_by_power(centre.data, size, exponent, centre.owned.data());
    centre.data = centre.owned.data();
}

template <Real T>
Centre<T> start_centre(const T* data, const Shape& shape) {
    Centre<T> centre;
    centre.data = data;
    for (const Index size : shape.sizes()) {
        if (size > 1) centre.modes.push_back(size);
    }
    if (centre.modes.empty()) centre.modes.push_back(1);
    centre.last = centre.modes.size();
    return centre;
}

template End choose_end(const Centre<float>&, const std::vector<BondLimit>&);
template void project(Centre<float>&, const End&, const Matrix<double>&, const ConsumedSink&);
template void rescale(Centre<float>&, int);
template Centre<float> start_centre(const float*, const Shape&);
template End choose_end(const Centre<double>&, const std::vector<BondLimit>&);
template void project(Centre<double>&, const End&, const Matrix<double>&, const ConsumedSink&);
template void rescale(Centre<double>&, int);
template Centre<double> start_centre(const double*, const Shape&);

}  // namespace couplet
