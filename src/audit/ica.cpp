#include "couplet/audit/ica.hpp"

#include <algorithm>
#include <cmath>

#include "couplet/core/random.hpp"
#include "couplet/linalg/eigen.hpp"
#include "couplet/linalg/products.hpp"

namespace couplet {
namespace {

// Directions of less energy than this carry rounding, or the steps of a quantised message.
constexpr double smallest_share = 1e-9;

Matrix<double> centred(MatrixView<const double> rows) {
    auto result = Matrix<double>::copy(rows);
    for (Index i = 0; i < result.rows(); ++i) {
        double mean = 0;
        for (Index j = 0; j < result.cols(); ++j) mean += result(i, j);
        mean /= static_cast<double>(result.cols());
        for (Index j = 0; j < result.cols(); ++j) result(i, j) -= mean;
    }
    return result;
}

/// Rows that are uncorrelated, of variance 1, and span what the given ones do.
Matrix<double> whitened(MatrixView<const double> rows) {
    const auto x = centred(rows);
    const auto eigen = symmetric_eigen(gram<double>(x.view(), Side::left).view());
    Index rank = 0;
    while (rank < x.rows() && eigen.values[static_cast<std::size_t>(rank)] > smallest_share * eigen.values[0]) ++rank;
    Matrix<double> turn(rank, x.rows());
    for (Index r = 0; r < rank; ++r) {
        const double scale = std::sqrt(static_cast<double>(x.cols()) / eigen.values[static_cast<std::size_t>(r)]);
        for (Index i = 0; i < x.rows(); ++i) turn(r, i) = scale * eigen.vectors(i, r);
    }
    return product<double>(turn.view(), x.view());
}

/// (W W^T)^{-1/2} W: the nearest orthogonal matrix.
Matrix<double> decorrelated(const Matrix<double>& w) {
    const auto eigen = symmetric_eigen(gram<double>(w.view(), Side::left).view());
    const Index n = w.rows();
    Matrix<double> scaled(n, n);
    for (Index i = 0; i < n; ++i) {
        for (Index j = 0; j < n; ++j) {
            const double value = std::max(eigen.values[static_cast<std::size_t>(j)], 1e-300);
            scaled(i, j) = eigen.vectors(i, j) / std::sqrt(value);
        }
    }
    const auto root = product<double>(scaled.view(), eigen.vectors.view(), Op::none, Op::transpose);
    return product<double>(root.view(), w.view());
}

Matrix<double> random_turn(Index n, std::uint64_t seed) {
    Random random(seed, 0x696361);
    Matrix<double> w(n, n);
    for (Index i = 0; i < w.size(); ++i) w.data()[i] = random.normal();
    return decorrelated(w);
}

/// W+ = E[g(W z) z^T] - diag(E[g'(W z)]) W with g = tanh.
Matrix<double> fixed_point(const Matrix<double>& w, const Matrix<double>& z) {
    auto s = product<double>(w.view(), z.view());
    const double share = 1.0 / static_cast<double>(z.cols());
    std::vector<double> slope(static_cast<std::size_t>(s.rows()), 0.0);
    for (Index i = 0; i < s.rows(); ++i) {
        double sum = 0;
        for (Index j = 0; j < s.cols(); ++j) {
            const double g = std::tanh(s(i, j));
            s(i, j) = g;
            sum += 1 - g * g;
        }
        slope[static_cast<std::size_t>(i)] = sum * share;
    }
    Matrix<double> next(w.rows(), w.cols());
    multiply<double>(s.view(), Op::none, z.view(), Op::transpose, next.view(), share);
    for (Index i = 0; i < next.rows(); ++i) {
        for (Index j = 0; j < next.cols(); ++j) next(i, j) -= slope[static_cast<std::size_t>(i)] * w(i, j);
    }
    return decorrelated(next);
}

/// How far any direction has turned: 0 when all stayed, up to sign.
double largest_turn(const Matrix<double>& before, const Matrix<double>& after) {
    double most = 0;
    for (Index i = 0; i < before.rows(); ++i) {
        double dot = 0;
        for (Index j = 0; j < before.cols(); ++j) dot += before(i, j) * after(i, j);
        most = std::max(most, std::abs(1 - std::abs(dot)));
    }
    return most;
}

}  // namespace

Matrix<double> independent_components(MatrixView<const double> mixtures, const IcaOptions& options) {
    if (mixtures.rows == 0 || mixtures.cols == 0) return {};
    const auto z = whitened(mixtures);
    if (z.rows() == 0) return {};
    auto w = random_turn(z.rows(), options.seed);
    for (int i = 0; i < options.iterations; ++i) {
        auto next = fixed_point(w, z);
        const double turn = largest_turn(w, next);
        w = std::move(next);
        if (turn < options.tolerance) break;
    }
    return product<double>(w.view(), z.view());
}

}  // namespace couplet
