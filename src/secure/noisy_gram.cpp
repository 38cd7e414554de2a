#include "couplet/secure/noisy_gram.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "couplet/core/random.hpp"
#include "couplet/linalg/eigen.hpp"
#include "couplet/linalg/products.hpp"

namespace couplet {
namespace {

/// tau2 of the contract: the ratio of weighted sums of what exceeds the noise and of d_i d_j, weights the inverse
/// variances under the present tau2.
double scatter(MatrixView<const double> a, double variance, std::span<const double> d) {
    constexpr int steps = 5;  // changes less than 1% after three
    double tau2 = 0.05;
    for (int step = 0; step < steps; ++step) {
        double signal = 0;
        double scale = 0;
        for (Index i = 0; i < a.rows; ++i) {
            for (Index j = i + 1; j < a.cols; ++j) {
                const double dd = d[static_cast<std::size_t>(i)] * d[static_cast<std::size_t>(j)];
                const double spread = tau2 * dd + variance / 2;
                if (dd <= 0 || spread <= 0) continue;
                signal += (a(i, j) * a(i, j) - variance / 2) * (dd / spread) / spread;
                scale += dd / spread * (dd / spread);
            }
        }
        tau2 = scale > 0 ? std::clamp(signal / scale, 1e-9, 1.0) : 1.0;
    }
    return tau2;
}

std::vector<double> diagonal_of(MatrixView<const double> a) {
    std::vector<double> diagonal;
    for (Index i = 0; i < a.rows; ++i) diagonal.push_back(a(i, i));
    return diagonal;
}

/// Energy of `other` along the leading eigenvectors of `shrunk`.
double energy_along(const Matrix<double>& shrunk, MatrixView<const double> other, Index directions) {
    const auto vectors = symmetric_eigen(shrunk.view(), directions).vectors;
    const auto image = product<double>(other, vectors.view());
    double energy = 0;
    for (Index i = 0; i < vectors.size(); ++i) energy += vectors.data()[i] * image.data()[i];
    return energy;
}

constexpr double strengths[] = {0, 0.3, 1};

double best_strength(MatrixView<const double> noisy, double variance, Index directions) {
    constexpr Index large = 300;
    double energies[std::size(strengths)] = {};
    Random random(0x7468696e);
    for (int split = 0; split < (noisy.rows > large ? 1 : 4); ++split) {
        std::vector<double> extra(static_cast<std::size_t>(noisy.rows * (noisy.rows + 1) / 2));
        for (double& one : extra) one = std::sqrt(variance) * random.normal();
        auto first = unpack_symmetric(extra, noisy.rows);
        auto second = Matrix<double>::copy(noisy);
        for (Index i = 0; i < noisy.rows; ++i) {
            for (Index j = 0; j < noisy.cols; ++j) {
                second(i, j) -= first(i, j);
                first(i, j) += noisy(i, j);
            }
        }
        const auto diagonal = diagonal_of(first.view());
        for (std::size_t k = 0; k < std::size(strengths); ++k) {
            energies[k] += energy_along(shrink_gram(first.view(), 2 * variance, diagonal, strengths[k]), second.view(),
                                        directions);
        }
    }
    return strengths[std::max_element(std::begin(energies), std::end(energies)) - std::begin(energies)];
}

}  // namespace

std::vector<double> pack_symmetric(MatrixView<const double> a) {
    std::vector<double> packed;
    packed.reserve(static_cast<std::size_t>(a.rows * (a.rows + 1) / 2));
    for (Index i = 0; i < a.rows; ++i) {
        packed.push_back(a(i, i));
        for (Index j = i + 1; j < a.cols; ++j) packed.push_back(M_SQRT2 * a(i, j));
    }
    return packed;
}

Matrix<double> unpack_symmetric(std::span<const double> packed, Index n) {
    Matrix<double> a(n, n);
    std::size_t at = 0;
    for (Index i = 0; i < n; ++i) {
        a(i, i) = packed[at++];
        for (Index j = i + 1; j < n; ++j) a(i, j) = a(j, i) = M_SQRT1_2 * packed[at++];
    }
    return a;
}

Matrix<double> shrink_gram(MatrixView<const double> noisy, double variance, std::span<const double> diagonal,
                           double strength) {
    if (strength == 0) return Matrix<double>::copy(noisy);
    std::vector<double> d(diagonal.begin(), diagonal.end());
    for (double& one : d) one = std::max(0.0, one);
    const double tau2 = scatter(noisy, variance, d);
    Matrix<double> clean(noisy.rows, noisy.cols);
    for (Index i = 0; i < noisy.rows; ++i) {
        for (Index j = 0; j < noisy.cols; ++j) {
            const double dd = d[static_cast<std::size_t>(i)] * d[static_cast<std::size_t>(j)];
            const double spread = tau2 * dd + variance / 2;
            clean(i, j) = spread > 0 ? noisy(i, j) * std::pow(tau2 * dd / spread, strength) : 0;
        }
        clean(i, i) = d[static_cast<std::size_t>(i)];
    }
    return clean;
}

Matrix<double> clean_gram(MatrixView<const double> noisy, double variance, Index directions) {
    const double strength = best_strength(noisy, variance, std::min(directions, noisy.rows));
    return shrink_gram(noisy, variance, diagonal_of(noisy), strength);
}

}  // namespace couplet
