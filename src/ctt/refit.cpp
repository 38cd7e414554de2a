#include "couplet/ctt/refit.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "couplet/core/error.hpp"
#include "couplet/ctt/prepare.hpp"
#include "couplet/linalg/numerical_rank.hpp"
#include "couplet/linalg/products.hpp"
#include "couplet/linalg/svd.hpp"
#include "couplet/tt/contraction.hpp"
#include "couplet/tt/rounding.hpp"

namespace couplet {
namespace {

// Below this part of ||X||^2 the difference of norms is no longer good to 1e-12 of ||X|| once its root is taken.
constexpr double cancelled = 1e-6;

/// Flops of contracting from the right, and of multiplying the features out and projecting.
bool dense_is_cheaper(const Shape& shape, const TensorTrain<double>& train) {
    const auto& r = train.ranks();
    double contraction = 0;
    double prefix = static_cast<double>(shape[0]);
    for (Index n = 0; n < train.order(); ++n) {
        prefix *= static_cast<double>(train.shape()[n]);
        contraction += 2 * prefix * static_cast<double>(r[static_cast<std::size_t>(n)]) *
                       static_cast<double>(r[static_cast<std::size_t>(n + 1)]);
    }
    const double p = static_cast<double>(train.shape().size());
    const double rank = static_cast<double>(train.left_rank());
    const double expand = 2 * rank * p * static_cast<double>(r[r.size() - 2]);
    return expand + 2 * static_cast<double>(shape[0]) * p * rank < contraction;
}

double length(const std::vector<double>& values) {
    return std::sqrt(squared_norm(MatrixView<const double>(values.data(), 1, static_cast<Index>(values.size()))));
}

void require_fit(const Shape& shape, const TensorTrain<double>& train) {
    const auto modes = shape.sizes().subspan(std::min<std::size_t>(1, shape.sizes().size()));
    if (std::ranges::equal(modes, train.shape().sizes())) return;
    throw InputError({"features", "modes " + train.shape().to_string(),
                      "those of the tensor " + shape.to_string() + " after the first", ""});
}

}  // namespace

PersonalFit refit(const TensorView<const double>& x, const Features& features, std::optional<double> norm2) {
    require_fit(x.shape(), features.train);
    PersonalFit fit;
    const auto rows = x.unfold(1);
    Matrix<double> w;
    const Index rank = features.train.left_rank();
    if (dense_is_cheaper(x.shape(), features.train)) {
        w = Matrix<double>::adopt(features.train.full().release(), rank, rows.cols);
        fit.personal = product<double>(rows, w.view(), Op::none, Op::transpose);
    } else {
        fit.personal = contract_right(x, features.train);
    }
    fit.norm2 = norm2 ? *norm2 : job_norm2(x, "tensor");
    const double kept = squared_norm<double>(fit.personal.view());
    fit.error2 = std::max(0.0, fit.norm2 - kept);
    if (fit.norm2 > 0 && fit.error2 < cancelled * fit.norm2) {
        if (w.size() == 0) w = Matrix<double>::adopt(features.train.full().release(), rank, rows.cols);
        auto residual = Matrix<double>::copy(rows);
        multiply<double>(fit.personal.view(), Op::none, w.view(), Op::none, residual.view(), -1.0, 1.0);
        fit.error2 = squared_norm<double>(residual.view());
    }
    return fit;
}

double fixed_error2(const TensorView<const double>& x, const Matrix<double>& weighted, const Features& features) {
    require_fit(x.shape(), features.train);
    if (features.train.left_rank() != weighted.rows()) {
        throw InputError({"features", "rank " + std::to_string(features.train.left_rank()),
                          std::to_string(weighted.rows()) + " as the personal core", ""});
    }
    // ||X - U W||^2 = ||X||^2 - ||D||^2 + ||D - W||^2 with D = U^T X.
    const auto w = features.train.full();
    double difference2 = 0;
    for (Index i = 0; i < weighted.size(); ++i) {
        const double d = weighted.data()[i] - w.data()[i];
        difference2 += d * d;
    }
    return std::max(0.0, squared_norm(x.unfold(1)) - squared_norm<double>(weighted.view())) + difference2;
}

Features orthonormal_features(const TensorTrain<double>& weighted) {
    // A leading core of ones and zeros opens the bond as a mode, so that the sweep carries the weights there.
    std::vector<Tensor<double>> cores;
    const Index rank = weighted.left_rank();
    cores.emplace_back(Shape{1, rank, rank}, Matrix<double>::identity(rank).release());
    for (Index n = 0; n < weighted.order(); ++n) cores.push_back(Tensor<double>::copy(weighted.core(n)));
    const auto right = right_orthonormalise(TensorTrain<double>(std::move(cores))).train;
    auto svd = truncated_svd<double>(right.left_unfolding(0), {});
    const double noise = rounding_noise(rank, weighted.shape().size(), length(svd.sigma));
    const Index kept = numerical_rank(svd.sigma, noise);
    svd.sigma.resize(static_cast<std::size_t>(kept));
    svd.v = leading_columns(svd.v.view(), kept);
    auto first = product<double>(svd.v.view(), right.right_unfolding(1), Op::transpose);
    std::vector<Tensor<double>> result;
    result.emplace_back(Shape{kept, weighted.shape()[0], right.ranks()[2]}, std::move(first).release());
    for (Index n = 2; n < right.order(); ++n) result.push_back(Tensor<double>::copy(right.core(n)));
    std::vector<Orthogonality> kinds(result.size(), Orthogonality::right);
    return {TensorTrain<double>(std::move(result), std::move(kinds)), std::move(svd.sigma), true};
}

}  // namespace couplet
