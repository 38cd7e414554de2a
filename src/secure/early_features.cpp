#include "couplet/secure/early_features.hpp"

#include <cmath>
#include <numeric>
#include <vector>

#include "couplet/linalg/eigen.hpp"
#include "couplet/linalg/numerical_rank.hpp"
#include "couplet/linalg/products.hpp"
#include "couplet/linalg/svd.hpp"

namespace couplet {
namespace {

/// Y C^(-1/2) with C = Q^T Y: its left singular vectors and squared singular values are those of the approximation.
Matrix<double> nystroem_root(const Matrix<double>& q, const Matrix<double>& y, double deviation) {
    const auto c = product<double>(q.view(), y.view(), Op::transpose);
    Matrix<double> even(c.rows(), c.cols());
    for (Index i = 0; i < c.rows(); ++i) {
        for (Index j = 0; j < c.cols(); ++j) even(i, j) = (c(i, j) + c(j, i)) / 2;
    }
    auto eigen = symmetric_eigen(even.view());
    // Directions below the noise would be blown up.
    const double noise = gram_noise(std::accumulate(eigen.values.begin(), eigen.values.end(), 0.0)) +
                         white_noise(c.rows(), c.cols(), deviation);
    eigen.vectors = leading_columns(eigen.vectors.view(), numerical_rank(eigen.values, noise));
    for (Index j = 0; j < eigen.vectors.cols(); ++j) {
        const double value = eigen.values[static_cast<std::size_t>(j)];
        const double weight = value > 0 ? 1 / std::sqrt(value) : 0;
        for (Index i = 0; i < eigen.vectors.rows(); ++i) eigen.vectors(i, j) *= weight;
    }
    return product<double>(y.view(), eigen.vectors.view());
}

}  // namespace

Features features_from_block(const Job& job, const Shape& features, const Matrix<double>& q, const Matrix<double>& y,
                             double deviation) {
    const auto root = nystroem_root(q, y, deviation);
    const auto svd = truncated_svd<double>(root.view(), {.method = SvdMethod::qr});
    // The iteration's own last step, with a basis in which the sums are diagonal.
    Job last = job;
    last.passes = 1;
    last.sketch = Sketch::random;
    SubspaceIteration iteration(last, features);
    iteration.skip();
    iteration.agree(svd.u.view());
    std::vector<double> triangle;
    for (Index i = 0; i < svd.u.cols(); ++i) {
        const double sigma = svd.sigma[static_cast<std::size_t>(i)];
        triangle.push_back(sigma * sigma);
        triangle.resize(triangle.size() + static_cast<std::size_t>(svd.u.cols() - i - 1), 0.0);
    }
    iteration.take(triangle, deviation);
    return iteration.features().clone();
}

}  // namespace couplet
