#include "couplet/ctt/subspace.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "couplet/core/error.hpp"
#include "couplet/core/random.hpp"
#include "couplet/ctt/refit.hpp"
#include "couplet/linalg/eigen.hpp"
#include "couplet/linalg/numerical_rank.hpp"
#include "couplet/linalg/products.hpp"
#include "couplet/linalg/qr.hpp"
#include "couplet/tt/tt_svd.hpp"

namespace couplet {
namespace {

/// Orthonormal start block, the same at every party with the same seed.
Matrix<double> shared_start(Index p, Index l, std::uint64_t seed) {
    Random random(seed, 0x736b65746368);
    Matrix<double> q(p, l);
    for (Index i = 0; i < q.size(); ++i) q.data()[i] = random.normal();
    orthonormalise_columns(q.view());
    return q;
}

Index triangle(Index n) { return n * (n + 1) / 2; }

Matrix<double> from_triangle(std::span<const double> values, Index n) {
    Matrix<double> g(n, n);
    std::size_t at = 0;
    for (Index i = 0; i < n; ++i) {
        for (Index j = i; j < n; ++j) g(i, j) = g(j, i) = values[at++];
    }
    return g;
}

double trace(const Matrix<double>& square) {
    double sum = 0;
    for (Index i = 0; i < square.rows(); ++i) sum += square(i, i);
    return sum;
}

bool gram_is_smaller(const Job& job, Index p, Index l) {
    const Index q = std::min(p, job.passes * l);
    return triangle(p) <= job.passes * p * l + triangle(q);
}

}  // namespace

TensorTrain<double> decompose_rows(const Matrix<double>& w, const Shape& features, double eps2) {
    std::vector<Index> sizes(features.sizes().begin(), features.sizes().end());
    sizes[0] *= w.rows();
    TtSvdOptions options;
    options.eps = eps2;
    auto train = tt_svd(TensorView<const double>(w.data(), Shape(std::move(sizes))), options).train;
    auto cores = std::move(train).release();
    const Index second = cores[0].shape()[2];
    cores[0] = Tensor<double>({w.rows(), features[0], second}, std::move(cores[0]).release());
    return TensorTrain<double>(std::move(cores));
}

Matrix<double> krylov_space(std::span<const Matrix<double>> blocks) {
    const Index p = blocks.front().rows();
    Matrix<double> space(p, 0);
    for (std::size_t t = blocks.size(); t-- > 0;) {
        const Index room = p - space.cols();
        if (room <= 0) break;
        space = extend_basis(space, leading_columns(blocks[t].view(), std::min(room, blocks[t].cols())));
    }
    return space;
}

SubspaceIteration::SubspaceIteration(const Job& job, Shape features)
    : job_(job), shape_(std::move(features)), passes_left_(job.passes) {
    const Index p = shape_.size();
    rank_ = std::min(job.rank.value_or(p), p);
    const Index l = std::min(p, rank_ + job.oversampling);
    const bool gram = job.sketch == Sketch::gram || (job.sketch == Sketch::automatic && gram_is_smaller(job, p, l));
    want_ = gram ? Want::gram : Want::sketch;
    if (!gram) basis_ = shared_start(p, l, job.seed);
}

Index SubspaceIteration::sum_length() const noexcept {
    switch (want_) {
        case Want::sketch:
            return basis_.size();
        case Want::gram:
            return triangle(shape_.size());
        case Want::projected:
            return triangle(basis_.cols());
        case Want::nothing:
            break;
    }
    return 0;
}

Index SubspaceIteration::sums_left() const noexcept {
    if (want_ == Want::nothing) return 0;
    return want_ == Want::sketch ? passes_left_ + 1 : 1;
}

void SubspaceIteration::take(std::span<const double> sum, double deviation) {
    if (static_cast<Index>(sum.size()) != sum_length() || want_ == Want::nothing) {
        throw InputError({"sum", std::to_string(sum.size()) + " numbers", std::to_string(sum_length()), ""});
    }
    if (want_ == Want::sketch) {
        take_sketch(sum);
    } else if (want_ == Want::gram) {
        finish({}, sum, deviation);
    } else {
        finish(basis_, sum, deviation);
    }
}

void SubspaceIteration::take_sketch(std::span<const double> sum) {
    std::copy(sum.begin(), sum.end(), basis_.data());
    orthonormalise_columns(basis_.view());
    blocks_.push_back(Matrix<double>::copy(basis_.view()));
    if (--passes_left_ > 0) return;
    basis_ = krylov_space(blocks_);
    newest_ = std::move(blocks_.back());
    blocks_.clear();
    want_ = Want::projected;
}

void SubspaceIteration::finish(const Matrix<double>& space, std::span<const double> upper_triangle, double deviation) {
    const Index n = space.cols() > 0 ? space.cols() : shape_.size();
    const auto sums = from_triangle(upper_triangle, n);
    auto ritz = symmetric_eigen(sums.view(), std::min(rank_, n));
    squares_ = trace(sums);
    squares_of_ = n;
    const double noise = gram_noise(squares_) + white_noise(n, n, deviation);
    ritz.vectors = leading_columns(ritz.vectors.view(), numerical_rank(ritz.values, noise));
    const auto vectors =
        space.cols() > 0 ? product<double>(space.view(), ritz.vectors.view()) : std::move(ritz.vectors);
    auto w = transpose(vectors.view());
    for (Index i = 0; i < w.rows(); ++i) {
        const double sigma = std::sqrt(std::max(0.0, ritz.values[static_cast<std::size_t>(i)]));
        for (Index j = 0; j < w.cols(); ++j) w(i, j) *= sigma;
    }
    features_ = orthonormal_features(decompose_rows(w, shape_, job_.eps2));
    want_ = Want::nothing;
    basis_ = Matrix<double>();
}

void SubspaceIteration::skip() {
    want_ = want_ == Want::sketch ? (--passes_left_ > 0 ? Want::sketch : Want::projected) : Want::nothing;
}

void SubspaceIteration::agree(MatrixView<const double> basis) {
    const bool fits = basis.rows == shape_.size() && basis.cols >= 1 && basis.cols <= shape_.size() &&
                      (want_ != Want::sketch || basis.cols == basis_.cols());
    if (!fits) {
        throw InputError({"basis", std::to_string(basis.rows) + "x" + std::to_string(basis.cols),
                          std::to_string(shape_.size()) + " rows and at most as many columns", ""});
    }
    basis_ = Matrix<double>::copy(basis);
}

}  // namespace couplet
