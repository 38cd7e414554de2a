#include "couplet/audit/rare_rows.hpp"

#include <algorithm>
#include <cmath>

#include "couplet/linalg/eigen.hpp"
#include "couplet/linalg/products.hpp"

namespace couplet {
namespace {

// Of a fit: cells above it are taken for cells that the record has.
constexpr double present = 1.0 / 3;

/// Rows of the sums, and their basis, each column in units of what it may be off by and of its size.
struct Measured {
    Matrix<double> basis;  ///< P x d
    Matrix<double> rows;   ///< rows x d
};

std::vector<Index> shortest_rows(MatrixView<const double> sums, double floor, Index most) {
    std::vector<std::pair<double, Index>> order;
    for (Index i = 0; i < sums.rows; ++i) {
        const double norm2 = squared_norm<double>(sums.rows_from(i, 1));
        if (norm2 > floor * floor) order.emplace_back(norm2, i);
    }
    std::sort(order.begin(), order.end());
    std::vector<Index> rows;
    for (std::size_t k = 0; k < order.size() && static_cast<Index>(k) < most; ++k) rows.push_back(order[k].second);
    return rows;
}

Measured measure(const ReleasedSums& released, const std::vector<Index>& which) {
    const Index p = released.sums.rows();
    const Index d = released.sums.cols();
    Measured measured{Matrix<double>(p, d), Matrix<double>(static_cast<Index>(which.size()), d)};
    for (Index j = 0; j < d; ++j) {
        double size = 0;
        for (const Index i : which) size += std::abs(released.sums(i, j)) / static_cast<double>(which.size());
        const double weight = 1 / (0.02 * size + released.precision[static_cast<std::size_t>(j)]);
        for (Index i = 0; i < p; ++i) measured.basis(i, j) = weight * released.basis(i, j);
        for (std::size_t k = 0; k < which.size(); ++k) {
            measured.rows(static_cast<Index>(k), j) = weight * released.sums(which[k], j);
        }
    }
    return measured;
}

/// min 1/2 |x B - y|^2 + l1 |x|, x >= 0, for every row y.
Matrix<double> sparse_fits(const Measured& measured, double strength, double curvature, int iterations) {
    const Index n = measured.rows.rows();
    const Index p = measured.basis.rows();
    const auto pull = product<double>(measured.rows.view(), measured.basis.view(), Op::none, Op::transpose);
    std::vector<double> weight(static_cast<std::size_t>(n), 0);
    for (Index k = 0; k < n; ++k) {
        const double* row = pull.view().row(k);
        for (Index i = 0; i < p; ++i) {
            weight[static_cast<std::size_t>(k)] = std::max(weight[static_cast<std::size_t>(k)], strength * row[i]);
        }
    }
    auto x = Matrix<double>::zeros(n, p);
    auto ahead = Matrix<double>::zeros(n, p);
    double t = 1;
    for (int round = 0; round < iterations; ++round) {
        auto rest = product<double>(ahead.view(), measured.basis.view());
        for (Index i = 0; i < rest.size(); ++i) rest.data()[i] -= measured.rows.data()[i];
        const auto slope = product<double>(rest.view(), measured.basis.view(), Op::none, Op::transpose);
        const double next = (1 + std::sqrt(1 + 4 * t * t)) / 2;
        for (Index k = 0; k < n; ++k) {
            for (Index i = 0; i < p; ++i) {
                const double step = (slope(k, i) + weight[static_cast<std::size_t>(k)]) / curvature;
                const double value = std::max(ahead(k, i) - step, 0.0);
                ahead(k, i) = value + (t - 1) / next * (value - x(k, i));
                x(k, i) = value;
            }
        }
        t = next;
    }
    return x;
}

}  // namespace

Matrix<double> rare_rows(const ReleasedSums& released, const RareRowsOptions& options) {
    const Index p = released.sums.rows();
    const Index d = released.sums.cols();
    if (p == 0 || d == 0) return Matrix<double>(0, p);
    const double each = 4.0 * options.iterations * static_cast<double>(options.strengths.size()) *
                        static_cast<double>(d) * static_cast<double>(p);
    const double noise = *std::max_element(released.precision.begin(), released.precision.end());
    const auto which = shortest_rows(released.sums.view(), noise * std::sqrt(static_cast<double>(d)),
                                     static_cast<Index>(std::max(1.0, options.work / each)));
    const Measured measured = measure(released, which);
    const auto n = static_cast<Index>(which.size());
    Matrix<double> guesses(2 * n * static_cast<Index>(options.strengths.size()), p);
    if (n == 0) return guesses;
    const double curvature = symmetric_eigen(gram<double>(measured.basis.view(), Side::right).view()).values.front();
    Index at = 0;
    for (const double strength : options.strengths) {
        const auto fits = sparse_fits(measured, strength, curvature, options.iterations);
        for (Index k = 0; k < n; ++k) {
            const double* fit = fits.view().row(k);
            const double largest = *std::max_element(fit, fit + p);
            std::copy_n(fit, p, guesses.view().row(at++));
            double* cells = guesses.view().row(at++);
            for (Index i = 0; i < p; ++i) cells[i] = fit[i] > present * largest ? 1 : 0;
        }
    }
    return guesses;
}

}  // namespace couplet
