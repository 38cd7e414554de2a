#pragma once

#include <cmath>
#include <cstdint>
#include <numeric>
#include <vector>

#include "couplet/linalg/reference.hpp"
#include "couplet/tt/tensor_train.hpp"
#include "matrices.hpp"

/// Tensors and trains with known properties, and naive versions of what the tt module computes.
namespace couplet::support {

template <Real T>
Tensor<T> random_tensor(const Shape& shape, std::uint64_t seed = 1, double scale = 1) {
    Random random(seed, 78);
    Tensor<T> x(shape);
    for (T& e : x.elements()) e = static_cast<T>(scale * random.normal());
    return x;
}

/// Random cores with these ranks R_0, ..., R_N.
template <Real T>
TensorTrain<T> random_train(const std::vector<Index>& sizes, const std::vector<Index>& ranks, std::uint64_t seed = 1,
                            double scale = 1) {
    std::vector<Tensor<T>> cores;
    for (std::size_t n = 0; n < sizes.size(); ++n) {
        cores.push_back(random_tensor<T>({ranks[n], sizes[n], ranks[n + 1]}, seed + n, scale));
    }
    return TensorTrain<T>(std::move(cores));
}

/// Inner ranks `rank`, outer ones 1.
inline std::vector<Index> inner_ranks(std::size_t order, Index rank) {
    std::vector<Index> ranks(order + 1, rank);
    ranks.front() = ranks.back() = 1;
    return ranks;
}

/// Every entry by the definition, in long double, whose exponents no product of cores here can leave.
template <Real T>
std::vector<long double> naive_full(const TensorTrain<T>& train) {
    const auto width = static_cast<std::size_t>(train.left_rank());
    std::vector<long double> rows(width * width, 0);
    for (std::size_t a = 0; a < width; ++a) rows[a * width + a] = 1;
    Index count = train.left_rank();
    for (Index n = 0; n < train.order(); ++n) {
        const auto g = train.core(n);
        const Index r0 = g.shape()[0];
        const Index size = g.shape()[1];
        const Index r1 = g.shape()[2];
        std::vector<long double> next(static_cast<std::size_t>(count * size * r1), 0);
        for (Index p = 0; p < count; ++p) {
            for (Index a = 0; a < r0; ++a) {
                const long double x = rows[static_cast<std::size_t>(p * r0 + a)];
                for (Index i = 0; i < size * r1; ++i) {
                    next[static_cast<std::size_t>(p * size * r1 + i)] +=
                        x * static_cast<long double>(g.data()[a * size * r1 + i]);
                }
            }
        }
        rows = std::move(next);
        count *= size;
    }
    return rows;
}

template <class T>
long double naive_norm_of(const T* values, std::size_t count) {
    long double sum = 0;
    for (std::size_t i = 0; i < count; ++i) {
        sum += static_cast<long double>(values[i]) * static_cast<long double>(values[i]);
    }
    return std::sqrt(sum);
}

template <Real T>
long double naive_norm_of(const Tensor<T>& x) {
    return naive_norm_of(x.data(), static_cast<std::size_t>(x.size()));
}

/// ||X - train|| / ||X||, entry by entry.
template <Real T, Real U>
double true_error(const Tensor<T>& x, const TensorTrain<U>& train) {
    const auto full = naive_full(train);
    long double sum = 0;
    for (std::size_t i = 0; i < full.size(); ++i) {
        const long double d = static_cast<long double>(x.data()[i]) - full[i];
        sum += d * d;
    }
    const long double norm = naive_norm_of(x);
    return norm > 0 ? static_cast<double>(std::sqrt(sum) / norm) : static_cast<double>(std::sqrt(sum));
}

/// Largest orthonormality residual over the cores that claim to be orthonormal; see
/// orthonormality_residual().
template <Real T>
double claimed_orthogonality_residual(const TensorTrain<T>& train) {
    double worst = 0;
    for (Index n = 0; n < train.order(); ++n) {
        if (train.orthogonality(n) == Orthogonality::left) {
            worst = std::max(worst, orthonormality_residual(train.left_unfolding(n)));
        } else if (train.orthogonality(n) == Orthogonality::right) {
            worst = std::max(worst, orthonormality_residual(transpose(train.right_unfolding(n)).view()));
        }
    }
    return worst;
}

template <Real T>
bool same_bits(const TensorTrain<T>& a, const TensorTrain<T>& b) {
    if (a.ranks() != b.ranks() || !(a.shape() == b.shape())) return false;
    for (Index n = 0; n < a.order(); ++n) {
        if (!same_bits<T>(a.left_unfolding(n), b.left_unfolding(n))) return false;
    }
    return true;
}

/// Ranks of the textbook TT-SVD, left to right, each cut the smallest rank whose tail is at most
/// eps / sqrt(N - 1) ||X||.
inline std::vector<Index> naive_tt_ranks(const Tensor<double>& x, double eps) {
    const Shape& shape = x.shape();
    const Index order = shape.order();
    const double delta =
        eps / std::sqrt(std::max(1.0, static_cast<double>(order - 1))) * static_cast<double>(naive_norm_of(x));
    std::vector<Index> ranks{1};
    Matrix<double> rest = Matrix<double>::copy(x.view().unfold(0));
    for (Index n = 0; n + 1 < order; ++n) {
        const Index rows = ranks.back() * shape[n];
        rest.reshape(rows, rest.size() / rows);
        const auto svd = reference::svd(rest.view());
        Index rank = static_cast<Index>(svd.sigma.size());
        double tail2 = 0;
        while (rank > 1) {
            const double s = svd.sigma[static_cast<std::size_t>(rank - 1)];
            if (tail2 + s * s > delta * delta) break;
            tail2 += s * s;
            --rank;
        }
        const auto u = leading_columns(svd.u.view(), rank);
        rest = naive_product(u.view(), rest.view(), Op::transpose, Op::none);
        ranks.push_back(rank);
    }
    ranks.push_back(1);
    return ranks;
}

}  // namespace couplet::support
