#include "plain_rows.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>
#include <vector>

namespace couplet {
namespace {

// A row that is spanned up to this part of its norm is rounding noise: less than any certificate looks at.
constexpr double spanned = 1e-12;

/// Eight sums side by side, added up in order: what vector units do fast, and the same without them.
double dot(const double* a, const double* b, Index size) {
    constexpr Index lanes = 8;
    std::array<double, lanes> sums = {};
    Index i = 0;
    for (; i + lanes <= size; i += lanes) {
        for (Index lane = 0; lane < lanes; ++lane) {
            sums[static_cast<std::size_t>(lane)] += a[i + lane] * b[i + lane];
        }
    }
    double rest = 0;
    for (; i < size; ++i) rest += a[i] * b[i];
    for (const double sum : sums) rest += sum;
    return rest;
}

void subtract(double factor, const double* from, Index size, double* to) {
    for (Index i = 0; i < size; ++i) to[i] -= factor * from[i];
}

}  // namespace

double plain_norm(const double* row, Index size) { return std::sqrt(dot(row, row, size)); }

Matrix<double> plain_product(MatrixView<const double> a, MatrixView<const double> b) {
    auto c = Matrix<double>::zeros(a.rows, b.cols);
    for (Index i = 0; i < a.rows; ++i) {
        for (Index k = 0; k < a.cols; ++k) subtract(-a(i, k), b.row(k), b.cols, c.view().row(i));
    }
    return c;
}

RowFactors factor_rows(MatrixView<const double> m) {
    auto l = Matrix<double>::zeros(m.rows, std::min(m.rows, m.cols));
    Matrix<double> q(std::min(m.rows, m.cols), m.cols);
    Index count = 0;
    std::vector<double> row(static_cast<std::size_t>(m.cols));
    for (Index i = 0; i < m.rows; ++i) {
        std::copy_n(m.row(i), m.cols, row.data());
        const double before = plain_norm(row.data(), m.cols);
        for (int pass = 0; pass < 2; ++pass) {
            for (Index k = 0; k < count; ++k) {
                const double part = dot(q.view().row(k), row.data(), m.cols);
                subtract(part, q.view().row(k), m.cols, row.data());
                l(i, k) += part;
            }
        }
        const double after = plain_norm(row.data(), m.cols);
        if (!(after > spanned * before) || count == q.rows()) continue;
        for (Index j = 0; j < m.cols; ++j) q(count, j) = row[static_cast<std::size_t>(j)] / after;
        l(i, count) = after;
        ++count;
    }
    return {leading_columns(std::as_const(l).view(), count), Matrix<double>::copy(q.view().rows_from(0, count))};
}

}  // namespace couplet
