#include "couplet/audit/views.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "couplet/core/random.hpp"
#include "couplet/ctt/client.hpp"
#include "couplet/ctt/merger.hpp"
#include "couplet/ctt/prepare.hpp"
#include "couplet/ctt/subspace.hpp"
#include "couplet/linalg/eigen.hpp"
#include "couplet/linalg/products.hpp"
#include "couplet/linalg/svd.hpp"
#include "couplet/tt/contraction.hpp"

namespace couplet {
namespace {

// That an attacker multiplies a Gram matrix with.
constexpr Index drawn_directions = 60;
// Of the largest square: directions below it are rounding.
constexpr double least_share = 1e-10;

Shape feature_shape(const TensorView<const double>& x) {
    return Shape(std::vector<Index>(x.shape().sizes().begin() + 1, x.shape().sizes().end()));
}

Hello hello_of(const TensorView<const double>& x) {
    return {feature_shape(x), x.shape()[0], squared_norm<double>(x.unfold(1))};
}

Start start_of(const Clients& clients) {
    Start start{static_cast<Index>(clients.size())};
    for (const auto& x : clients) {
        start.rows += x.shape()[0];
        start.norm2 += squared_norm<double>(x.unfold(1));
    }
    return start;
}

Matrix<double> expanded(const FeatureBlock& block) {
    Matrix<double> rows(block.rows(), block.features().size());
    block.expand(rows.view());
    return rows;
}

/// diag(sigma) V^T of the features.
Matrix<double> weighted(const Features& features) {
    FeatureBlock block(features.train.clone());
    auto rows = expanded(block);
    for (Index r = 0; r < rows.rows() && r < static_cast<Index>(features.sigma.size()); ++r) {
        for (Index j = 0; j < rows.cols(); ++j) rows(r, j) *= features.sigma[static_cast<std::size_t>(r)];
    }
    return rows;
}

std::vector<Index> everybody(const Clients& clients) {
    std::vector<Index> all(clients.size());
    std::iota(all.begin(), all.end(), Index{0});
    return all;
}

void add_noise(std::vector<double>& sum, const std::optional<SumNoise>& noise, Index pass) {
    if (!noise) return;
    Random random(noise->seed, 0x6e6f697365 + static_cast<std::uint64_t>(pass));
    for (double& value : sum) value += noise->sigma * random.normal();
}

std::vector<double> summed(const Clients& clients, const std::vector<Index>& of, SubspaceIteration::Want want,
                           MatrixView<const double> basis, double step = 0) {
    std::vector<double> sum;
    for (const Index k : of) {
        const auto& x = clients[static_cast<std::size_t>(k)];
        auto part = want == SubspaceIteration::Want::projected ? projected_gram(x, basis) : sketch_sum(x, basis);
        if (sum.empty()) sum.assign(part->size(), 0.0);
        for (std::size_t i = 0; i < sum.size(); ++i) {
            sum[i] += step > 0 ? step * std::nearbyint(part.get()[i] / step) : part.get()[i];
        }
    }
    return sum;
}

Matrix<double> beside(const Matrix<double>& left, const Matrix<double>& more) {
    Matrix<double> all(more.rows(), left.cols() + more.cols());
    for (Index i = 0; i < all.rows(); ++i) {
        std::copy_n(left.view().row(i), left.cols(), all.view().row(i));
        std::copy_n(more.view().row(i), more.cols(), all.view().row(i) + left.cols());
    }
    return all;
}

/// Directions that an attacker draws.
std::vector<Matrix<double>> few_directions(Index features) {
    const Index count = std::min(features, drawn_directions);
    Random random(0, 0x6c617474696365);
    Matrix<double> basis(features, count);
    for (Index i = 0; i < basis.size(); ++i) {
        basis.data()[i] = random.normal() / std::sqrt(static_cast<double>(features));
    }
    std::vector<Matrix<double>> one;
    one.push_back(std::move(basis));
    return one;
}

Matrix<double> square_from_triangle(const std::vector<double>& values, Index n) {
    Matrix<double> g(n, n);
    std::size_t at = 0;
    for (Index i = 0; i < n; ++i) {
        for (Index j = i; j < n; ++j) g(i, j) = g(j, i) = values[at++];
    }
    return g;
}

/// Rows D with D^T D ~ Y C^+ Y^T, C = Q^T Y symmetrised (Nystroem): what A is, as far as Y = A Q tells. Directions of C
/// below `floor` are noise.
Matrix<double> nystroem(const Matrix<double>& q, const Matrix<double>& y, double floor) {
    auto c = product<double>(q.view(), y.view(), Op::transpose);
    for (Index i = 0; i < c.rows(); ++i) {
        for (Index j = 0; j < i; ++j) c(i, j) = c(j, i) = (c(i, j) + c(j, i)) / 2;
    }
    const auto eigen = symmetric_eigen(c.view());
    const double least = std::max(floor, 1e-9 * std::max(eigen.values.front(), 0.0));
    Index rank = 0;
    while (rank < c.rows() && eigen.values[static_cast<std::size_t>(rank)] > least) ++rank;
    Matrix<double> turn(c.rows(), rank);
    for (Index i = 0; i < c.rows(); ++i) {
        for (Index r = 0; r < rank; ++r) {
            turn(i, r) = eigen.vectors(i, r) / std::sqrt(eigen.values[static_cast<std::size_t>(r)]);
        }
    }
    if (rank == 0) return Matrix<double>(0, y.rows());
    return product<double>(turn.view(), y.view(), Op::transpose, Op::transpose);
}

}  // namespace

SumTranscript::SumTranscript(const Clients& clients, const Job& job, std::optional<SumNoise> noise)
    : clients_(clients), noise_(noise) {
    SubspaceIteration iteration(job, feature_shape(clients.front()));
    Index pass = 0;
    while (iteration.want() != SubspaceIteration::Want::nothing) {
        if (iteration.want() == SubspaceIteration::Want::sketch) {
            bases_.push_back(Matrix<double>::copy(iteration.basis().view()));
            directions_ += iteration.basis().cols();
        }
        auto sum = summed(clients_, everybody(clients_), iteration.want(), iteration.basis().view());
        add_noise(sum, noise_, pass++);
        iteration.take(sum);
    }
    if (bases_.empty()) directions_ = feature_shape(clients.front()).size();
    features_ = weighted(iteration.features());
}

Matrix<double> SumTranscript::shown(const std::vector<Index>& clients) const {
    if (bases_.empty()) return from_gram(clients);
    const Index p = bases_.front().rows();
    Matrix<double> q(p, directions_);
    Matrix<double> y(p, directions_);
    Index at = 0;
    Index pass = 0;
    for (const auto& basis : bases_) {
        auto sum = summed(clients_, clients, SubspaceIteration::Want::sketch, basis.view());
        add_noise(sum, noise_, pass++);
        for (Index i = 0; i < p; ++i) {
            for (Index j = 0; j < basis.cols(); ++j) {
                q(i, at + j) = basis(i, j);
                y(i, at + j) = sum[static_cast<std::size_t>(i * basis.cols() + j)];
            }
        }
        at += basis.cols();
    }
    // Noise in C is a random symmetric matrix, whose eigenvalues reach 2 sigma sqrt(d).
    const double floor = noise_ ? 2 * noise_->sigma * std::sqrt(static_cast<double>(directions_)) : 0;
    return nystroem(q, y, floor);
}

Matrix<double> SumTranscript::from_gram(const std::vector<Index>& clients) const {
    const Index p = feature_shape(clients_.front()).size();
    auto sum = summed(clients_, clients, SubspaceIteration::Want::gram, {});
    add_noise(sum, noise_, 0);
    const auto eigen = symmetric_eigen(square_from_triangle(sum, p).view());
    const double floor = noise_ ? 2 * noise_->sigma * std::sqrt(static_cast<double>(p)) : 0;
    const double least = std::max(floor, 1e-12 * std::max(eigen.values.front(), 0.0));
    Index rank = 0;
    while (rank < p && eigen.values[static_cast<std::size_t>(rank)] > least) ++rank;
    Matrix<double> rows(rank, p);
    for (Index r = 0; r < rank; ++r) {
        const double scale = std::sqrt(eigen.values[static_cast<std::size_t>(r)]);
        for (Index j = 0; j < p; ++j) rows(r, j) = scale * eigen.vectors(j, r);
    }
    return rows;
}

ReleasedSums SumTranscript::released(const std::vector<Index>& clients, double step, std::optional<double> clip) const {
    // A Gram matrix times directions of one's own choice is a sketch as well.
    const Index p = feature_shape(clients_.front()).size();
    const std::vector<Matrix<double>> own = bases_.empty() ? few_directions(p) : std::vector<Matrix<double>>();
    ReleasedSums released{.basis = Matrix<double>(p, 0), .sums = Matrix<double>(p, 0), .precision = {}, .clip = clip};
    Index pass = 0;
    for (const auto& basis : bases_.empty() ? own : bases_) {
        auto sum = summed(clients_, clients, SubspaceIteration::Want::sketch, basis.view(), step);
        add_noise(sum, noise_, pass++);
        const auto block = Matrix<double>::copy(MatrixView<const double>(sum.data(), p, basis.cols()));
        released.basis = beside(released.basis, basis);
        released.sums = beside(released.sums, block);
    }
    const double largest = std::sqrt(squared_norm<double>(released.sums.view()));
    const double noise = noise_ ? 3 * noise_->sigma : 0;
    const double rounding = 4 * (step * static_cast<double>(clients.size()) + 0x1.0p-50 * largest);
    released.precision.assign(static_cast<std::size_t>(released.sums.cols()), noise + rounding);
    return released;
}

ReleasedSums sums_of_rows(MatrixView<const double> rows, const TensorView<const double>& client) {
    ReleasedSums released{.basis = Matrix<double>(rows.cols, 0), .sums = Matrix<double>(rows.cols, 0), .precision = {}};
    if (rows.rows == 0 || squared_norm<double>(rows) == 0) return released;
    const auto eigen = symmetric_eigen(gram<double>(rows, Side::left).view());
    Index d = 0;
    while (d < rows.rows && eigen.values[static_cast<std::size_t>(d)] > least_share * eigen.values.front()) {
        ++d;
    }
    const auto turn = leading_columns(eigen.vectors.view(), d);
    released.sums = product<double>(rows, turn.view(), Op::transpose);
    released.basis = Matrix<double>::copy(released.sums.view());
    const Index p = rows.cols;
    for (Index i = 0; i < p; ++i) {
        for (Index r = 0; r < d; ++r) released.basis(i, r) /= eigen.values[static_cast<std::size_t>(r)];
    }
    const auto x = client.unfold(1);
    const auto truth = product<double>(x, product<double>(x, released.basis.view()).view(), Op::transpose);
    for (Index r = 0; r < d; ++r) {
        double off = 0;
        double largest = 0;
        for (Index i = 0; i < p; ++i) {
            off += std::pow(released.sums(i, r) - truth(i, r), 2) / static_cast<double>(p);
            largest = std::max(largest, std::abs(released.sums(i, r)));
        }
        released.precision.push_back(std::sqrt(off) + 0x1.0p-44 * largest);
    }
    return released;
}

Matrix<double> stack_message(const TensorView<const double>& client, const Job& job, const Clients& all) {
    return expanded(compress_client(client, client_limits(job, hello_of(client), start_of(all))).block.get());
}

Matrix<double> average_message(const TensorView<const double>& client, const Job& job) {
    return expanded(average_client(client, *job.rank, job.eps1).upload.block.get());
}

Matrix<double> stack_features(const Clients& clients, const Job& job) {
    Merger merger(job, feature_shape(clients.front()), start_of(clients));
    for (const auto& x : clients) merger.add(compress_client(x, client_limits(job, hello_of(x), start_of(clients))));
    return weighted(merger.finish().features);
}

}  // namespace couplet
