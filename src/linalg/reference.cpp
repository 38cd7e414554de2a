#include "couplet/linalg/reference.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace couplet::reference {
namespace {

double column_dot(const Matrix<double>& a, Index p, Index q) {
    double sum = 0;
    for (Index i = 0; i < a.rows(); ++i) sum += a(i, p) * a(i, q);
    return sum;
}

void rotate(Matrix<double>& a, Index p, Index q, double c, double s) {
    for (Index i = 0; i < a.rows(); ++i) {
        const double x = a(i, p);
        const double y = a(i, q);
        a(i, p) = c * x - s * y;
        a(i, q) = s * x + c * y;
    }
}

}  // namespace

Matrix<double> multiply(MatrixView<const double> a, MatrixView<const double> b) {
    auto c = Matrix<double>::zeros(a.rows, b.cols);
    for (Index i = 0; i < a.rows; ++i) {
        for (Index j = 0; j < b.cols; ++j) {
            for (Index k = 0; k < a.cols; ++k) c(i, j) += a(i, k) * b(k, j);
        }
    }
    return c;
}

Svd svd(MatrixView<const double> a) {
    if (a.rows < a.cols) {
        Svd flipped = svd(transpose(a).view());
        return {std::move(flipped.v), std::move(flipped.sigma), std::move(flipped.u)};
    }
    const Index n = a.cols;
    auto work = Matrix<double>::copy(a);
    auto v = Matrix<double>::identity(n);
    bool rotated = true;
    for (int sweep = 0; sweep < 60 && rotated; ++sweep) {
        rotated = false;
        for (Index p = 0; p + 1 < n; ++p) {
            for (Index q = p + 1; q < n; ++q) {
                const double alpha = column_dot(work, p, p);
                const double beta = column_dot(work, q, q);
                const double gamma = column_dot(work, p, q);
                if (std::abs(gamma) <= 1e-16 * std::sqrt(alpha * beta) || gamma == 0) continue;
                rotated = true;
                const double zeta = (beta - alpha) / (2 * gamma);
                const double t = (zeta >= 0 ? 1.0 : -1.0) / (std::abs(zeta) + std::hypot(1.0, zeta));
                const double c = 1 / std::hypot(1.0, t);
                rotate(work, p, q, c, c * t);
                rotate(v, p, q, c, c * t);
            }
        }
    }
    std::vector<double> norms;
    for (Index j = 0; j < n; ++j) norms.push_back(std::sqrt(column_dot(work, j, j)));
    std::vector<Index> order(static_cast<std::size_t>(n));
    std::iota(order.begin(), order.end(), Index{0});
    std::ranges::stable_sort(order, [&](Index x, Index y) {
        return norms[static_cast<std::size_t>(x)] > norms[static_cast<std::size_t>(y)];
    });
    Svd result{Matrix<double>(a.rows, n), {}, Matrix<double>(n, n)};
    for (Index j = 0; j < n; ++j) {
        const Index from = order[static_cast<std::size_t>(j)];
        const double sigma = norms[static_cast<std::size_t>(from)];
        result.sigma.push_back(sigma);
        for (Index i = 0; i < a.rows; ++i) result.u(i, j) = sigma > 0 ? work(i, from) / sigma : 0;
        for (Index i = 0; i < n; ++i) result.v(i, j) = v(i, from);
    }
    return result;
}

}  // namespace couplet::reference
