#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <utility>
#include <vector>

#include "couplet/core/random.hpp"
#include "couplet/ctt/refit.hpp"
#include "couplet/linalg/products.hpp"
#include "couplet/linalg/qr.hpp"
#include "couplet/linalg/svd.hpp"
#include "couplet/models/factors.hpp"
#include "couplet/tt/tt_svd.hpp"

namespace couplet::testing {

/// Patients of a planted CP: X = sum_r a_r o b_r o c_r ... + noise of this part of the norm.
struct Planted {
    Tensor<double> x;
    std::vector<Matrix<double>> factors;  ///< feature modes, columns of norm 1
};

inline Planted planted(const Shape& shape, Index rank, double noise, bool positive, std::uint64_t seed) {
    Random random(seed);
    std::vector<Matrix<double>> factors;
    for (Index n = 0; n < shape.order(); ++n) {
        Matrix<double> factor(shape[n], rank);
        for (Index i = 0; i < factor.size(); ++i) {
            const double value = random.normal();
            // Sparse where it is not negative, as phenotypes are: products of dense positive vectors are all alike.
            factor.data()[i] = positive ? std::max(0.0, value) : value;
        }
        for (Index r = 0; r < rank && n > 0; ++r) {
            double square = 0;
            if (positive) factor(r % shape[n], r) += 1;  // no column of zeros
            for (Index i = 0; i < shape[n]; ++i) square += factor(i, r) * factor(i, r);
            for (Index i = 0; i < shape[n]; ++i) factor(i, r) /= std::sqrt(square);
        }
        factors.push_back(std::move(factor));
    }
    Planted made{Tensor<double>::zeros(shape), {}};
    for (Index at = 0; at < shape.size(); ++at) {
        const auto index = shape.indices(at);
        for (Index r = 0; r < rank; ++r) {
            double value = 1;
            for (std::size_t n = 0; n < factors.size(); ++n) value *= factors[n](index[n], r);
            made.x.data()[at] += value;
        }
    }
    const double norm = std::sqrt(squared_norm<double>(std::as_const(made.x).view().unfold(1)));
    const double spread = noise * norm / std::sqrt(static_cast<double>(shape.size()));
    for (double& value : made.x.elements()) value += spread * random.normal();
    factors.erase(factors.begin());
    made.factors = std::move(factors);
    return made;
}

/// The merge of one site: the leading directions of X as a train, and its bound.
struct OneSite {
    MergedRows rows;
    std::vector<double> sigma;
    double bound = 0;
};

inline OneSite merged(const Tensor<double>& x, Index rank) {
    const auto svd = truncated_svd<double>(x.view().unfold(1), {.max_rank = rank});
    std::vector<Index> sizes(x.shape().sizes().begin(), x.shape().sizes().end());
    sizes[0] = svd.v.cols();
    auto weighted = transpose(svd.v.view());
    for (Index i = 0; i < weighted.rows(); ++i) {
        for (Index j = 0; j < weighted.cols(); ++j) weighted(i, j) *= svd.sigma[static_cast<std::size_t>(i)];
    }
    // Cores of a train with an open left bond: TT-SVD of the rows, the first core multiplied back.
    auto whole = tt_svd<double>(TensorView<const double>(weighted.data(), Shape(sizes)), {}).train;
    auto cores = std::move(whole).release();
    const Shape first = cores[0].shape();
    const Shape second = cores[1].shape();
    auto joined =
        product<double>({cores[0].data(), first[1], first[2]}, {cores[1].data(), second[0], second[1] * second[2]});
    std::vector<Tensor<double>> rest;
    rest.emplace_back(Shape{first[1], second[1], second[2]}, std::move(joined).release());
    for (std::size_t n = 2; n < cores.size(); ++n) rest.push_back(std::move(cores[n]));
    Features features = orthonormal_features(TensorTrain<double>(std::move(rest)));
    const double norm2 = squared_norm<double>(x.view().unfold(1));
    return {merged_rows(std::move(features.train), features.sigma, "merge"), features.sigma,
            std::sqrt(svd.tail2 / norm2)};
}

/// ||X (I - QQ^T)|| / ||X|| by multiplying out.
inline double error_on(const Tensor<double>& x, const TensorTrain<double>& rows) {
    auto w = transpose(MatrixView<const double>(rows.full().data(), rows.left_rank(), rows.shape().size()));
    orthonormalise_columns<double>(w.view());
    const auto kept = product<double>(x.view().unfold(1), w.view());
    auto rest = Matrix<double>::copy(x.view().unfold(1));
    multiply<double>(kept.view(), Op::none, w.view(), Op::transpose, rest.view(), -1.0, 1.0);
    return std::sqrt(squared_norm<double>(rest.view()) / squared_norm<double>(x.view().unfold(1)));
}

}  // namespace couplet::testing
