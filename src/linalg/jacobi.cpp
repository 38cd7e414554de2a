#include "jacobi.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "simd.hpp"

namespace couplet {
namespace {

constexpr Index lanes = 8;

/// Two rows of `width` numbers, a multiple of the lanes.
COUPLET_INLINE void turn_body(double* x, double* y, Index width, double c, double s) {
    Lanes left;
    Lanes right;
    for (Index i = 0; i < width; i += lanes) {
        load(left, x + i);
        load(right, y + i);
        store(c * left - s * right, x + i);
        store(s * left + c * right, y + i);
    }
}

/// Every pair of rows once; how many of them had to be turned.
COUPLET_INLINE Index sweep_body(double* rows, Index count, Index width, double tolerance, double* squares) {
    constexpr double vanished = 1e-290;  // of a square: what is shorter has lost its digits, and counts as zeros
    for (Index p = 0; p < count; ++p) squares[p] = dot_of_blocks(rows + p * width, rows + p * width, 0, width);
    Index turned = 0;
    for (Index p = 0; p + 1 < count; ++p) {
        for (Index q = p + 1; q < count; ++q) {
            double* x = rows + p * width;
            double* y = rows + q * width;
            const double overlap = dot_of_blocks(x, y, 0, width);
            // Lengths, not squares: the square of an overlap may be no number where the overlap is one.
            const double lengths = std::sqrt(squares[p]) * std::sqrt(squares[q]);
            if (std::min(squares[p], squares[q]) < vanished || std::abs(overlap) <= tolerance * lengths) continue;
            const double zeta = (squares[q] - squares[p]) / (2 * overlap);
            const double tangent = std::copysign(1.0, zeta) / (std::abs(zeta) + std::hypot(1.0, zeta));
            const double c = 1 / std::sqrt(1 + tangent * tangent);
            turn_body(x, y, width, c, c * tangent);
            squares[p] = std::max(0.0, squares[p] - tangent * overlap);
            squares[q] += tangent * overlap;
            ++turned;
        }
    }
    return turned;
}

struct Kernels {
    Index (*sweep)(double*, Index, Index, double, double*);
};

#define COUPLET_KERNELS(name, attribute)                                                                      \
    attribute Index sweep_##name(double* rows, Index count, Index width, double tolerance, double* squares) { \
        return sweep_body(rows, count, width, tolerance, squares);                                            \
    }                                                                                                         \
    constexpr Kernels kernels_##name{sweep_##name};

COUPLET_FOR_EACH_SIMD_LEVEL(COUPLET_KERNELS)
#undef COUPLET_KERNELS

}  // namespace

std::vector<double> orthogonalise_rows(Matrix<double>& f) {
    const Index count = f.rows();
    const Index width = (f.cols() + lanes - 1) / lanes * lanes;
    auto rows = Matrix<double>::zeros(count, width);
    for (Index i = 0; i < count; ++i) std::copy_n(f.view().row(i), f.cols(), rows.view().row(i));
    std::vector<double> squares(static_cast<std::size_t>(count));
    constexpr double roundoff = std::numeric_limits<double>::epsilon();
    const double tolerance = roundoff * std::sqrt(static_cast<double>(f.cols()));
    constexpr int most_sweeps = 30;  // ten are many
    int sweeps = 0;
    while (COUPLET_BEST_OF(kernels).sweep(rows.data(), count, width, tolerance, squares.data()) > 0) {
        if (++sweeps == most_sweeps) return {};
    }
    std::vector<Index> order(static_cast<std::size_t>(count));
    std::iota(order.begin(), order.end(), Index{0});
    std::ranges::stable_sort(order, std::greater<>{}, [&](Index i) { return squares[static_cast<std::size_t>(i)]; });
    std::vector<double> sorted;
    for (Index i = 0; i < count; ++i) {
        const Index from = order[static_cast<std::size_t>(i)];
        std::copy_n(rows.view().row(from), f.cols(), f.view().row(i));
        sorted.push_back(squares[static_cast<std::size_t>(from)]);
    }
    return sorted;
}

}  // namespace couplet
