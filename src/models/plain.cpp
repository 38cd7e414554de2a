#include "plain.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <numeric>

namespace couplet::plain {
namespace {

constexpr Index lanes = 8;
constexpr int tile_rows = 4;
typedef double Eight __attribute__((vector_size(64)));

/// Element (i, k) of the left factor is data[i * row + k * term].
struct Left {
    const double* data;
    Index row;
    Index term;
};

#define COUPLET_MODELS_INLINE inline __attribute__((always_inline))

/// rows x 8 entries of C; every entry adds its terms in order.
template <int rows>
COUPLET_MODELS_INLINE void tile(Index terms, const Left& a, const double* b, Index ldb, double* c, Index ldc) {
    Eight sums[rows];
    for (int i = 0; i < rows; ++i) std::memcpy(&sums[i], c + i * ldc, sizeof(Eight));
    for (Index k = 0; k < terms; ++k) {
        Eight right;
        std::memcpy(&right, b + k * ldb, sizeof(Eight));
        for (int i = 0; i < rows; ++i) sums[i] += a.data[i * a.row + k * a.term] * right;
    }
    for (int i = 0; i < rows; ++i) std::memcpy(c + i * ldc, &sums[i], sizeof(Eight));
}

COUPLET_MODELS_INLINE void panel_body(Index m, Index terms, Left a, const double* b, Index ldb, double* c, Index ldc) {
    Index i = 0;
    for (; i + tile_rows <= m; i += tile_rows) {
        tile<tile_rows>(terms, a, b, ldb, c + i * ldc, ldc);
        a.data += tile_rows * a.row;
    }
    for (; i < m; ++i) {
        tile<1>(terms, a, b, ldb, c + i * ldc, ldc);
        a.data += a.row;
    }
}

using Panel = void (*)(Index, Index, Left, const double*, Index, double*, Index);

void panel_baseline(Index m, Index terms, Left a, const double* b, Index ldb, double* c, Index ldc) {
    panel_body(m, terms, a, b, ldb, c, ldc);
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) void panel_avx2(Index m, Index terms, Left a, const double* b, Index ldb, double* c,
                                                Index ldc) {
    panel_body(m, terms, a, b, ldb, c, ldc);
}
__attribute__((target("avx512f"))) void panel_avx512(Index m, Index terms, Left a, const double* b, Index ldb,
                                                     double* c, Index ldc) {
    panel_body(m, terms, a, b, ldb, c, ldc);
}
#endif

Panel best_panel() {
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f")) return panel_avx512;
    if (__builtin_cpu_supports("avx2")) return panel_avx2;
#endif
    return panel_baseline;
}

/// The last columns, fewer than eight: beside zeros that nobody looks at.
void add_rest(Panel panel, Index m, Index terms, const Left& a, MatrixView<const double> b, MatrixView<double> c) {
    std::vector<double> right(static_cast<std::size_t>(terms * lanes));
    std::vector<double> sums(static_cast<std::size_t>(m * lanes));
    for (Index k = 0; k < terms; ++k) std::copy_n(b.row(k), b.cols, right.data() + k * lanes);
    for (Index i = 0; i < m; ++i) std::copy_n(c.row(i), c.cols, sums.data() + i * lanes);
    panel(m, terms, a, right.data(), lanes, sums.data(), lanes);
    for (Index i = 0; i < m; ++i) std::copy_n(sums.data() + i * lanes, c.cols, c.row(i));
}

/// Turns rows and columns p and q of A and columns p and q of V such that A(p, q) vanishes.
void rotate(Matrix<double>& a, Matrix<double>& v, Index p, Index q) {
    const double theta = (a(q, q) - a(p, p)) / (2 * a(p, q));
    const double t = (theta < 0 ? -1 : 1) / (std::abs(theta) + std::sqrt(theta * theta + 1));
    const double c = 1 / std::sqrt(t * t + 1);
    const double s = t * c;
    const Index n = a.rows();
    for (Index k = 0; k < n; ++k) {
        const double x = a(k, p);
        const double y = a(k, q);
        a(k, p) = c * x - s * y;
        a(k, q) = s * x + c * y;
    }
    for (Index k = 0; k < n; ++k) {
        const double x = a(p, k);
        const double y = a(q, k);
        a(p, k) = c * x - s * y;
        a(q, k) = s * x + c * y;
        const double left = v(k, p);
        const double right = v(k, q);
        v(k, p) = c * left - s * right;
        v(k, q) = s * left + c * right;
    }
    a(p, q) = a(q, p) = 0;
}

bool sweep(Matrix<double>& a, Matrix<double>& v, double negligible) {
    bool turned = false;
    for (Index p = 0; p < a.rows(); ++p) {
        for (Index q = p + 1; q < a.rows(); ++q) {
            if (std::abs(a(p, q)) <= negligible) continue;
            rotate(a, v, p, q);
            turned = true;
        }
    }
    return turned;
}

/// Largest-magnitude entry positive, the first one on a tie.
double sign_of_column(const Matrix<double>& m, Index j) {
    double largest = 0;
    for (Index i = 0; i < m.rows(); ++i) {
        if (std::abs(m(i, j)) > std::abs(largest)) largest = m(i, j);
    }
    return largest < 0 ? -1 : 1;
}

}  // namespace

void add_product(MatrixView<const double> a, bool turned, MatrixView<const double> b, MatrixView<double> c) {
    static const Panel panel = best_panel();
    const Left left = turned ? Left{a.data, 1, a.stride} : Left{a.data, a.stride, 1};
    const Index terms = turned ? a.rows : a.cols;
    const Index whole = b.cols / lanes * lanes;
    for (Index j = 0; j < whole; j += lanes) {
        panel(c.rows, terms, left, b.data + j, b.stride, c.data + j, c.stride);
    }
    if (whole == b.cols) return;
    add_rest(panel, c.rows, terms, left, b.cols_from(whole, b.cols - whole), c.cols_from(whole, b.cols - whole));
}

Matrix<double> product(MatrixView<const double> a, MatrixView<const double> b) {
    auto c = Matrix<double>::zeros(a.rows, b.cols);
    add_product(a, false, b, c.view());
    return c;
}

Matrix<double> turned_product(MatrixView<const double> a, MatrixView<const double> b) {
    auto c = Matrix<double>::zeros(a.cols, b.cols);
    add_product(a, true, b, c.view());
    return c;
}

double dot(MatrixView<const double> a, MatrixView<const double> b) {
    double total = 0;
    for (Index i = 0; i < a.rows; ++i) {
        double sum = 0;
        for (Index j = 0; j < a.cols; ++j) sum += a(i, j) * b(i, j);
        total += sum;
    }
    return total;
}

Eigen eigen(MatrixView<const double> symmetric) {
    const Index n = symmetric.rows;
    auto a = Matrix<double>::copy(symmetric);
    auto v = Matrix<double>::identity(n);
    double largest = 0;
    for (Index i = 0; i < a.size(); ++i) largest = std::max(largest, std::abs(a.data()[i]));
    constexpr int most_sweeps = 40;
    for (int round = 0; round < most_sweeps && sweep(a, v, 1e-17 * largest); ++round) {
    }
    std::vector<Index> order(static_cast<std::size_t>(n));
    std::iota(order.begin(), order.end(), Index{0});
    std::stable_sort(order.begin(), order.end(), [&](Index i, Index j) { return a(i, i) > a(j, j); });
    Eigen result{std::vector<double>(order.size()), Matrix<double>(n, n)};
    for (Index j = 0; j < n; ++j) {
        const Index from = order[static_cast<std::size_t>(j)];
        result.values[static_cast<std::size_t>(j)] = a(from, from);
        const double sign = sign_of_column(v, from);
        for (Index i = 0; i < n; ++i) result.vectors(i, j) = sign * v(i, from);
    }
    return result;
}

Matrix<double> power(const Eigen& eigen, double exponent) {
    constexpr double negligible = 1e-12;
    const Index n = eigen.vectors.rows();
    Matrix<double> scaled(n, n);
    for (Index j = 0; j < n; ++j) {
        const double value = eigen.values[static_cast<std::size_t>(j)];
        // Roots and divisions round alike everywhere, std::pow does not.
        double factor = 0;
        if (value > negligible * eigen.values.front() && value > 0) {
            const double root = std::abs(exponent) == 0.5 ? std::sqrt(value) : value;
            factor = exponent < 0 ? 1 / root : root;
        }
        for (Index i = 0; i < n; ++i) scaled(j, i) = factor * eigen.vectors(i, j);
    }
    return product(eigen.vectors.view(), scaled.view());
}

Matrix<double> divide(MatrixView<const double> x, MatrixView<const double> a) {
    constexpr double rounding = 1e-14;
    const Index n = a.rows;
    auto l = Matrix<double>::zeros(n, n);
    std::vector<double> inverse(static_cast<std::size_t>(n));
    for (Index j = 0; j < n; ++j) {
        double pivot = a(j, j);
        for (Index k = 0; k < j; ++k) pivot -= l(j, k) * l(j, k);
        if (!(pivot > rounding * a(j, j))) continue;
        l(j, j) = std::sqrt(pivot);
        inverse[static_cast<std::size_t>(j)] = 1 / l(j, j);
        for (Index i = j + 1; i < n; ++i) {
            double sum = a(i, j);
            for (Index k = 0; k < j; ++k) sum -= l(i, k) * l(j, k);
            l(i, j) = sum * inverse[static_cast<std::size_t>(j)];
        }
    }
    auto y = Matrix<double>::copy(x);
    for (Index row = 0; row < y.rows(); ++row) {
        double* const values = y.view().row(row);
        for (Index j = 0; j < n; ++j) {
            double sum = values[j];
            for (Index k = 0; k < j; ++k) sum -= l(j, k) * values[k];
            values[j] = sum * inverse[static_cast<std::size_t>(j)];
        }
        for (Index j = n - 1; j >= 0; --j) {
            double sum = values[j];
            for (Index k = j + 1; k < n; ++k) sum -= l(k, j) * values[k];
            values[j] = sum * inverse[static_cast<std::size_t>(j)];
        }
    }
    return y;
}

void orthonormalise(Matrix<double>& columns) {
    constexpr double spanned = 1e-12;
    auto rows = transpose(columns.view());
    const Index length = rows.cols();
    for (Index j = 0; j < rows.rows(); ++j) {
        const auto own = rows.view().rows_from(j, 1);
        const double before = std::sqrt(dot(own, own));
        for (int pass = 0; pass < 2; ++pass) {
            for (Index k = 0; k < j; ++k) {
                const double part = dot(rows.view().rows_from(k, 1), own);
                for (Index i = 0; i < length; ++i) rows(j, i) -= part * rows(k, i);
            }
        }
        const double after = std::sqrt(dot(own, own));
        const double scale = after > spanned * before ? 1 / after : 0;
        for (Index i = 0; i < length; ++i) rows(j, i) *= scale;
    }
    columns = transpose(rows.view());
}

}  // namespace couplet::plain
