#include "couplet/linalg/products.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "blas.hpp"
#include "couplet/core/error.hpp"
#include "couplet/core/operations.hpp"
#include "couplet/core/threads.hpp"
#include "couplet/tensor/partition.hpp"
#include "narrow.hpp"

namespace couplet {
namespace {

// Below this many flops a second thread costs more than it brings (about 50 microseconds of one core).
constexpr double parallel_flops = 3e6;

std::string size_text(Index rows, Index cols, Op op) {
    return std::to_string(rows) + "x" + std::to_string(cols) + (op == Op::transpose ? " transposed" : "");
}

/// How many parts work of this many flops is cut in: depends on the work alone, never on the machine. Up to `small`
/// parts that are just worth a thread, beyond that parts large enough not to notice what cutting costs, up to `most`.
Index parts_for(double flops, Index small, Index most) {
    constexpr double large_part = 1e8;
    const auto worth = std::min(static_cast<Index>(flops / parallel_flops), small);
    return std::clamp<Index>(std::max(worth, static_cast<Index>(flops / large_part)), 1, most);
}

template <Real T>
void add_into(const T* from, Index size, T* to) {
    for (Index i = 0; i < size; ++i) to[i] += from[i];
}

/// Long inner dimension, small result: every part of the inner dimension has its own result, summed in order.
template <Real T>
void multiply_split_inner(MatrixView<const T> a, bool ta, MatrixView<const T> b, bool tb, MatrixView<T> c, T alpha,
                          T beta, const Partition& inner) {
    std::vector<Matrix<T>> partial;
    partial.reserve(static_cast<std::size_t>(inner.count()));
    for (Index p = 0; p < inner.count(); ++p) partial.emplace_back(c.rows, c.cols);
    parallel_for(inner.count(), [&](Index p) {
        const Index k0 = inner.begin(p);
        const T* pa = ta ? a.row(k0) : a.data + k0;
        const T* pb = tb ? b.data + k0 : b.row(k0);
        auto& out = partial[static_cast<std::size_t>(p)];
        blas::gemm(ta, tb, c.rows, c.cols, inner.length(p), alpha, pa, a.stride, pb, b.stride, T(0), out.data(),
                   c.cols);
    });
    for (std::size_t p = 1; p < partial.size(); ++p) add_into(partial[p].data(), c.size(), partial[0].data());
    for (Index i = 0; i < c.rows; ++i) {
        const T* from = partial[0].view().row(i);
        T* to = c.row(i);
        for (Index j = 0; j < c.cols; ++j) to[j] = beta == T(0) ? from[j] : from[j] + beta * to[j];
    }
}

/// The lower triangle from the upper one, a band of rows at a time and in it squares that stay in cache.
void fill_lower(Matrix<double>& g) {
    constexpr Index square = 32;
    constexpr Index worth_sharing = 256;
    const Index n = g.rows();
    const auto bands = Partition::blocks(n, n < worth_sharing ? n : square);
    parallel_for(bands.count(), [&](Index b) {
        for (Index j0 = 0; j0 < bands.end(b); j0 += square) {
            for (Index i = bands.begin(b); i < bands.end(b); ++i) {
                for (Index j = j0; j < std::min(j0 + square, i); ++j) g(i, j) = g(j, i);
            }
        }
    });
}

/// Adds the upper triangles of `others` to that of g, each entry in their order.
void add_upper(const std::vector<Matrix<double>>& others, Matrix<double>& g) {
    constexpr Index band = 32;
    const Index n = g.rows();
    const double numbers = static_cast<double>(others.size()) * static_cast<double>(n) * static_cast<double>(n);
    constexpr double worth_sharing = 1e5;
    const auto bands = Partition::blocks(n, numbers < worth_sharing ? n : band);
    parallel_for(bands.count(), [&](Index b) {
        for (Index i = bands.begin(b); i < bands.end(b); ++i) {
            for (const auto& other : others) add_into(other.data() + i * n + i, n - i, g.data() + i * n + i);
        }
    });
}

/// Upper triangle of the Gram matrix of `part`, written to g where it is the first, added to it otherwise.
void accumulate_gram(MatrixView<const double> part, bool right, Matrix<double>& g, bool first) {
    if (right && is_narrow(part.cols)) {
        narrow_gram(part, g.view(), first);
        return;
    }
    if (!right && is_low(part.rows)) {
        low_gram(part, g.view(), first);
        return;
    }
    const Index n = right ? part.cols : part.rows;
    const Index k = right ? part.rows : part.cols;
    blas::syrk(right, n, k, part.data, part.stride, first ? 0 : 1, g.data(), n);
}

/// The same of float data, in double: blocks of it are converted while they stay in cache.
void accumulate_gram(MatrixView<const float> part, bool right, Matrix<double>& g, bool first) {
    constexpr Index block_elements = 64 * 1024;
    const Index n = right ? part.cols : part.rows;
    const Index k = right ? part.rows : part.cols;
    const Index step = std::max<Index>(8, block_elements / n);
    for (Index k0 = 0; k0 < k; k0 += step) {
        const Index count = std::min(step, k - k0);
        const auto block = convert<double>(right ? part.rows_from(k0, count) : part.cols_from(k0, count));
        accumulate_gram(block.view(), right, g, first && k0 == 0);
    }
}

/// Large result: tiles of the upper triangle, each computed once; g <- Gram matrix + beta g. No memory beyond the
/// result.
void gram_tiled(MatrixView<const double> a, bool right, double beta, Matrix<double>& g) {
    const Index n = g.rows();
    const Index tile = std::clamp<Index>((n / 4 + 31) / 32 * 32, 128, 192);
    const Index k = right ? a.rows : a.cols;
    const auto tiles = Partition::blocks(n, tile);
    parallel_for(tiles.count() * (tiles.count() + 1) / 2, [&](Index t) {
        Index j = 0;
        while ((j + 1) * (j + 2) / 2 <= t) ++j;
        const Index i = t - j * (j + 1) / 2;
        const Index i0 = tiles.begin(i);
        const Index j0 = tiles.begin(j);
        const Index ni = tiles.length(i);
        const Index nj = tiles.length(j);
        const double* ai = right ? a.data + i0 : a.row(i0);
        const double* aj = right ? a.data + j0 : a.row(j0);
        double* out = g.data() + i0 * n + j0;
        if (i == j) {
            blas::syrk(right, ni, k, ai, a.stride, beta, out, n);
        } else {
            blas::gemm(right, !right, ni, nj, k, 1.0, ai, a.stride, aj, a.stride, beta, out, n);
        }
    });
}

/// The same of float data, in double: a block of the inner dimension is converted at a time.
void gram_tiled(MatrixView<const float> a, bool right, double beta, Matrix<double>& g) {
    constexpr Index step = 1024;
    const Index k = right ? a.rows : a.cols;
    for (Index k0 = 0; k0 < k; k0 += step) {
        const Index count = std::min(step, k - k0);
        const auto part = right ? a.rows_from(k0, count) : a.cols_from(k0, count);
        Matrix<double> block(part.rows, part.cols);
        parallel_for(part.rows, [&](Index i) { convert_into(part.rows_from(i, 1), block.view().rows_from(i, 1)); });
        gram_tiled(block.view(), right, k0 == 0 ? beta : 1, g);
    }
}

}  // namespace

template <Real T>
void multiply(MatrixView<const T> a, Op op_a, MatrixView<const T> b, Op op_b, MatrixView<T> c, T alpha, T beta) {
    const bool ta = op_a == Op::transpose;
    const bool tb = op_b == Op::transpose;
    const Index m = ta ? a.cols : a.rows;
    const Index k = ta ? a.rows : a.cols;
    const Index n = tb ? b.rows : b.cols;
    if ((tb ? b.cols : b.rows) != k || c.rows != m || c.cols != n) {
        throw InputError({"matrix product",
                          size_text(a.rows, a.cols, op_a) + " times " + size_text(b.rows, b.cols, op_b) + " into " +
                              size_text(c.rows, c.cols, Op::none),
                          "sizes that agree", ""});
    }
    if (m == 0 || n == 0) return;
    if (k == 0) {
        for (Index i = 0; i < m; ++i) {
            for (Index j = 0; j < n; ++j) c(i, j) = beta == T(0) ? T(0) : beta * c(i, j);
        }
        return;
    }
    const double flops = 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
    const Index parts = parts_for(flops, 32, 256);
    constexpr Index shortest = 64;  // a part packs the other operand for itself
    if constexpr (std::same_as<T, double>) {
        if (ta && !tb && alpha == 1 && beta == 0 && n >= std::max(shortest, m) && is_low_image(k, m)) {
            const auto cols = Partition::even(n, std::min(parts, n / shortest), 8);
            parallel_for(cols.count(), [&](Index p) {
                const Index j0 = cols.begin(p);
                low_image(a, b.cols_from(j0, cols.length(p)), c.cols_from(j0, cols.length(p)));
            });
            return;
        }
    }
    if (parts == 1) {
        blas::gemm(ta, tb, m, n, k, alpha, a.data, a.stride, b.data, b.stride, beta, c.data, c.stride);
    } else if (k >= 8 * std::max(m, n)) {
        multiply_split_inner(a, ta, b, tb, c, alpha, beta, Partition::even(k, std::min<Index>(parts, 8), 64));
    } else if (m >= n) {
        const auto rows = Partition::even(m, std::min(parts, m / shortest), 8);
        parallel_for(rows.count(), [&](Index p) {
            const Index i0 = rows.begin(p);
            if constexpr (std::same_as<T, double>) {
                if (n == 1 && !ta && b.stride == 1 && c.stride == 1 && alpha == 1 && beta == 0 && is_narrow(k) &&
                    a.stride == k) {
                    narrow_times_vector(a.rows_from(i0, rows.length(p)), b.data, c.data + i0);
                    return;
                }
            }
            blas::gemm(ta, tb, rows.length(p), n, k, alpha, ta ? a.data + i0 : a.row(i0), a.stride, b.data, b.stride,
                       beta, c.row(i0), c.stride);
        });
    } else {
        const auto cols = Partition::even(n, std::min(parts, n / shortest), 8);
        parallel_for(cols.count(), [&](Index p) {
            const Index j0 = cols.begin(p);
            blas::gemm(ta, tb, m, cols.length(p), k, alpha, a.data, a.stride, tb ? b.row(j0) : b.data + j0, b.stride,
                       beta, c.data + j0, c.stride);
        });
    }
}

template <Real T>
Matrix<T> product(MatrixView<const T> a, MatrixView<const T> b, Op op_a, Op op_b) {
    Matrix<T> c(op_a == Op::transpose ? a.cols : a.rows, op_b == Op::transpose ? b.rows : b.cols);
    multiply<T>(a, op_a, b, op_b, c.view());
    return c;
}

template <Real T>
Matrix<double> gram(MatrixView<const T> a, Side side) {
    const bool right = side == Side::right;
    const Index n = right ? a.cols : a.rows;
    const Index k = right ? a.rows : a.cols;
    if (k == 0 || n == 0) return Matrix<double>::zeros(n, n);
    constexpr Index tiled_from = 384;
    Matrix<double> g(n, n);
    const double flops = static_cast<double>(n) * static_cast<double>(n) * static_cast<double>(k);
    // Tiles also where the inner dimension is too short to be worth splitting.
    const bool short_inner = k < 2 * n && flops > 4 * parallel_flops;
    if (n >= tiled_from || short_inner) {
        gram_tiled(a, right, 0, g);
        fill_lower(g);
        return g;
    }
    // A part shorter than the result is wide would spend its time adding results up.
    // Each has a result of its own, which together stay below 8 MiB.
    const Index most = std::max<Index>(16, (Index{1} << 20) / (n * n));
    const auto inner =
        Partition::even(k, std::min(parts_for(flops, 16, std::min<Index>(most, 128)), std::max<Index>(1, k / n)), 8);
    std::vector<Matrix<double>> partial;
    for (Index p = 1; p < inner.count(); ++p) partial.emplace_back(n, n);
    parallel_for(inner.count(), [&](Index p) {
        const auto part =
            right ? a.rows_from(inner.begin(p), inner.length(p)) : a.cols_from(inner.begin(p), inner.length(p));
        accumulate_gram(part, right, p == 0 ? g : partial[static_cast<std::size_t>(p - 1)], true);
    });
    add_upper(partial, g);
    fill_lower(g);
    return g;
}

template <Real T>
double squared_norm(MatrixView<const T> a) {
    constexpr Index lanes = 8;
    count_operations(2 * static_cast<double>(a.size()));
    const auto rows = Partition::even(a.rows, parts_for(2.0 * static_cast<double>(a.size()), 32, 128));
    std::vector<double> partial(static_cast<std::size_t>(rows.count()), 0.0);
    parallel_for(rows.count(), [&](Index p) {
        double sums[lanes] = {};
        for (Index i = rows.begin(p); i < rows.end(p); ++i) {
            const T* row = a.row(i);
            Index j = 0;
            for (; j + lanes <= a.cols; j += lanes) {
                for (Index l = 0; l < lanes; ++l)
                    sums[l] += static_cast<double>(row[j + l]) * static_cast<double>(row[j + l]);
            }
            for (; j < a.cols; ++j) sums[0] += static_cast<double>(row[j]) * static_cast<double>(row[j]);
        }
        for (const double s : sums) partial[static_cast<std::size_t>(p)] += s;
    });
    double total = 0;
    for (const double s : partial) total += s;
    return total;
}

template <Real T>
double max_magnitude(MatrixView<const T> a) {
    // Several maxima side by side: one alone would wait for itself at every number.
    constexpr Index lanes = 16;
    T largest[lanes] = {};
    T check[lanes] = {};  // x - x is NaN for NaN and infinity alone
    for (Index i = 0; i < a.rows; ++i) {
        const T* row = a.row(i);
        Index j = 0;
        for (; j + lanes <= a.cols; j += lanes) {
            for (Index l = 0; l < lanes; ++l) {
                const T x = std::abs(row[j + l]);
                largest[l] = largest[l] < x ? x : largest[l];
                check[l] += x - x;
            }
        }
        for (; j < a.cols; ++j) {
            const T x = std::abs(row[j]);
            largest[0] = largest[0] < x ? x : largest[0];
            check[0] += x - x;
        }
    }
    T total = 0;
    for (const T c : check) total += c;
    if (total != 0) {
        for (Index i = 0; i < a.rows; ++i) {
            for (Index j = 0; j < a.cols; ++j) {
                if (std::isnan(a(i, j))) return std::numeric_limits<double>::quiet_NaN();
            }
        }
    }
    return static_cast<double>(*std::max_element(largest, largest + lanes));
}

template void multiply(MatrixView<const float>, Op, MatrixView<const float>, Op, MatrixView<float>, float, float);
template void multiply(MatrixView<const double>, Op, MatrixView<const double>, Op, MatrixView<double>, double, double);
template Matrix<float> product(MatrixView<const float>, MatrixView<const float>, Op, Op);
template Matrix<double> product(MatrixView<const double>, MatrixView<const double>, Op, Op);
template Matrix<double> gram(MatrixView<const float>, Side);
template Matrix<double> gram(MatrixView<const double>, Side);
template double squared_norm(MatrixView<const float>);
template double squared_norm(MatrixView<const double>);
template double max_magnitude(MatrixView<const float>);
template double max_magnitude(MatrixView<const double>);

}  // namespace couplet
