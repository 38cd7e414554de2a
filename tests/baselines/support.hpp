#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "couplet/baselines/run_method.hpp"
#include "couplet/core/random.hpp"
#include "couplet/core/threads.hpp"
#include "cp.hpp"

/// CP federations and slow versions of what the kernels and methods do.
namespace couplet::support {

using Clients = std::vector<Tensor<double>>;

inline Matrix<double> normal_matrix(Index rows, Index cols, std::uint64_t seed) {
    Random random(seed, 11);
    Matrix<double> a(rows, cols);
    for (Index i = 0; i < a.size(); ++i) a.data()[i] = random.normal();
    return a;
}

inline Factors normal_factors(const Shape& shape, Index rank, std::uint64_t seed) {
    Factors factors;
    for (Index n = 0; n < shape.order(); ++n) {
        factors.push_back(normal_matrix(shape[n], rank, 100 * seed + static_cast<std::uint64_t>(n)));
    }
    return factors;
}

inline Tensor<double> normal_tensor(const Shape& shape, std::uint64_t seed) {
    const auto a = normal_matrix(1, shape.size(), seed);
    return Tensor<double>::copy({a.data(), shape});
}

/// Value of the model at these indices.
inline double model_at(const Factors& factors, const std::vector<Index>& at) {
    double sum = 0;
    for (Index r = 0; r < factors.back().cols(); ++r) {
        double term = 1;
        for (std::size_t n = 0; n < factors.size(); ++n) term *= factors[n](at[n], r);
        sum += term;
    }
    return sum;
}

inline Tensor<double> model_tensor(const Factors& factors, const Shape& shape) {
    Tensor<double> x(shape);
    for (Index i = 0; i < x.size(); ++i) x.data()[i] = model_at(factors, shape.indices(i));
    return x;
}

/// X_(n) H by the definition.
inline Matrix<double> naive_mttkrp(TensorView<const double> x, const Factors& factors, Index mode) {
    auto result = Matrix<double>::zeros(x.shape()[mode], factors.back().cols());
    for (Index i = 0; i < x.size(); ++i) {
        const auto at = x.shape().indices(i);
        for (Index r = 0; r < result.cols(); ++r) {
            double term = x.data()[i];
            for (std::size_t n = 0; n < factors.size(); ++n) {
                if (static_cast<Index>(n) != mode) term *= factors[n](at[n], r);
            }
            result(at[static_cast<std::size_t>(mode)], r) += term;
        }
    }
    return result;
}

/// Gradient of 1/2 ||X - M||^2.
inline Matrix<double> naive_gradient(TensorView<const double> x, const Factors& factors, Index mode) {
    auto residual = model_tensor(factors, x.shape());
    for (Index i = 0; i < x.size(); ++i) residual.data()[i] -= x.data()[i];
    return naive_mttkrp(residual.view(), factors, mode);
}

/// The step that all SGD methods take with all fibers.
inline void naive_descend(TensorView<const double> x, Factors& factors, Index mode, double step, double ridge = 0) {
    auto& factor = factors[static_cast<std::size_t>(mode)];
    const auto gradient = naive_gradient(x, factors, mode);
    const double length = step / largest_eigenvalue(khatri_rao_gram(factors, mode));
    for (Index i = 0; i < factor.size(); ++i) {
        factor.data()[i] -= length * gradient.data()[i] + step * ridge * factor.data()[i];
    }
}

/// The common start of all methods.
inline Factors start_factors(const Tensor<double>& x, Index rank, std::uint64_t seed = 0) {
    Factors factors = random_shared_factors(x.shape(), rank, seed);
    factors[0] = solve_right(naive_mttkrp(x.view(), factors, 0), khatri_rao_gram(factors, 0));
    return factors;
}

inline double distance(const Matrix<double>& a, const Matrix<double>& b) {
    double sum = a.rows() == b.rows() && a.cols() == b.cols() ? 0 : INFINITY;
    for (Index i = 0; i < std::min(a.size(), b.size()); ++i) sum += std::pow(a.data()[i] - b.data()[i], 2);
    return std::sqrt(sum);
}

/// Clients of an exact CP model: the same features, other patients.
inline Clients cp_clients(Index clients, const Shape& shape, Index rank, std::uint64_t seed = 1) {
    Factors factors = normal_factors(shape, rank, seed);
    Clients result;
    for (Index k = 0; k < clients; ++k) {
        factors[0] = normal_matrix(shape[0], rank, 7000 + 10 * seed + static_cast<std::uint64_t>(k));
        result.push_back(model_tensor(factors, shape));
    }
    return result;
}

/// So many clients with the same data.
inline Clients copies(const Tensor<double>& x, Index clients) {
    Clients result;
    for (Index k = 0; k < clients; ++k) result.push_back(Tensor<double>::copy(x.view()));
    return result;
}

inline SimulationOptions with_rank(Index rank) {
    SimulationOptions options;
    options.job.rank = rank;
    return options;
}

inline MethodResult run_on(Clients clients, const std::string& method, Index rank, const BaselineOptions& baseline) {
    return run_method(parse_method(method), MemorySource(std::move(clients)), with_rank(rank), baseline);
}

/// What a run without the final refit leaves: every client's A_1, and the shared factors read back from the diagonal
/// cores.
struct Trained {
    std::vector<Matrix<double>> personal;
    Factors shared{1};  ///< from 1 on
    MethodResult result;
};

inline Trained train(Clients clients, const std::string& method, Index rank, const BaselineOptions& baseline,
                     const JobOptions& job = {}) {
    SimulationOptions options;
    options.job = job;
    options.job.rank = rank;
    options.job.refit = false;
    Trained trained;
    options.on_personal = [&](Index, const Matrix<double>& personal) {
        trained.personal.push_back(Matrix<double>::copy(personal.view()));
    };
    trained.result = run_method(parse_method(method), MemorySource(std::move(clients)), std::move(options), baseline);
    const auto& train = trained.result.simulation.features->train;
    for (Index n = 0; n < train.order(); ++n) {
        const auto core = train.core(n);
        Matrix<double> factor(core.shape()[1], rank);
        for (Index i = 0; i < factor.rows(); ++i) {
            for (Index r = 0; r < rank; ++r) {
                const Index right = core.shape()[2] == 1 ? 0 : r;
                factor(i, r) = core.data()[(r * factor.rows() + i) * core.shape()[2] + right];
            }
        }
        trained.shared.push_back(std::move(factor));
    }
    return trained;
}

/// The first client's A_1 and the shared factors.
inline Factors trained_factors(Clients clients, const std::string& method, Index rank,
                               const BaselineOptions& baseline) {
    auto trained = train(std::move(clients), method, rank, baseline);
    Factors factors = std::move(trained.shared);
    factors[0] = std::move(trained.personal.front());
    return factors;
}

/// Clients that differ in patients, size and scale: 4x3x2, 5x3x2, 6x3x2, ...
inline Clients uneven_clients(Index clients) {
    Clients result;
    for (Index k = 0; k < clients; ++k) {
        result.push_back(normal_tensor({4 + k, 3, 2}, 60 + static_cast<std::uint64_t>(k)));
        for (double& value : result.back().elements()) value *= 1 + 0.5 * static_cast<double>(k);
    }
    return result;
}

inline Clients clone(const Clients& clients) {
    Clients result;
    for (const auto& x : clients) result.push_back(Tensor<double>::copy(x.view()));
    return result;
}

/// H^T H by the definition, rank 2.
inline Matrix<double> naive_gram2(const Factors& factors, Index mode) {
    Matrix<double> g(2, 2);
    for (Index r = 0; r < 2; ++r) {
        for (Index s = 0; s < 2; ++s) {
            g(r, s) = 1;
            for (std::size_t n = 0; n < factors.size(); ++n) {
                if (static_cast<Index>(n) == mode) continue;
                double sum = 0;
                for (Index i = 0; i < factors[n].rows(); ++i) sum += factors[n](i, r) * factors[n](i, s);
                g(r, s) *= sum;
            }
        }
    }
    return g;
}

/// B (G + shift I)^-1 for a 2 x 2 matrix, by Cramer's rule.
inline Matrix<double> naive_solve2(const Matrix<double>& b, const Matrix<double>& g, double shift = 0) {
    const double p = g(0, 0) + shift;
    const double q = g(1, 1) + shift;
    const double o = g(0, 1);
    const double determinant = p * q - o * o;
    Matrix<double> x(b.rows(), 2);
    for (Index i = 0; i < b.rows(); ++i) {
        x(i, 0) = (b(i, 0) * q - b(i, 1) * o) / determinant;
        x(i, 1) = (b(i, 1) * p - b(i, 0) * o) / determinant;
    }
    return x;
}

/// The step of length `step` over the larger eigenvalue of H^T H, plus the ridge; rank 2. To be subtracted.
inline Matrix<double> naive_descent2(const Tensor<double>& x, const Factors& factors, Index mode, double step,
                                     double ridge = 0) {
    const auto g = naive_gram2(factors, mode);
    const double half = (g(0, 0) - g(1, 1)) / 2;
    const double largest = (g(0, 0) + g(1, 1)) / 2 + std::sqrt(half * half + g(0, 1) * g(0, 1));
    auto result = naive_gradient(x.view(), factors, mode);
    const auto& factor = factors[static_cast<std::size_t>(mode)];
    for (Index i = 0; i < result.size(); ++i) {
        result.data()[i] = step / largest * result.data()[i] + step * ridge * factor.data()[i];
    }
    return result;
}

/// a + scale b.
inline Matrix<double> plus(const Matrix<double>& a, double scale, const Matrix<double>& b) {
    Matrix<double> sum(a.rows(), a.cols());
    for (Index i = 0; i < a.size(); ++i) sum.data()[i] = a.data()[i] + scale * b.data()[i];
    return sum;
}

/// ||P||_1 / numel(P) sign(P).
inline Matrix<double> naive_signs(const Matrix<double>& p) {
    double mean = 0;
    for (Index i = 0; i < p.size(); ++i) mean += std::abs(p.data()[i]) / static_cast<double>(p.size());
    Matrix<double> signs(p.rows(), p.cols());
    for (Index i = 0; i < p.size(); ++i) signs.data()[i] = p.data()[i] < 0 ? -mean : mean;
    return signs;
}

inline double naive_norm2(const Tensor<double>& x) {
    double sum = 0;
    for (Index i = 0; i < x.size(); ++i) sum += x.data()[i] * x.data()[i];
    return sum;
}

/// The common start of all methods for every client, rank 2.
inline std::vector<Factors> start_all(const Clients& clients) {
    std::vector<Factors> result;
    for (const auto& x : clients) {
        Factors factors = random_shared_factors(x.shape(), 2, 0);
        factors[0] = naive_solve2(naive_mttkrp(x.view(), factors, 0), naive_gram2(factors, 0));
        result.push_back(std::move(factors));
    }
    return result;
}

/// The run's personal factors against those of `clients`, its shared ones against `shared`.
inline void expect_trained(const Trained& trained, const std::vector<Factors>& clients, const Factors& shared,
                           double tolerance = 1e-10) {
    ASSERT_EQ(trained.personal.size(), clients.size());
    for (std::size_t k = 0; k < clients.size(); ++k) {
        EXPECT_LT(distance(trained.personal[k], clients[k][0]), tolerance) << "personal factor of client " << k;
    }
    for (std::size_t n = 1; n < shared.size(); ++n) {
        EXPECT_LT(distance(trained.shared[n], shared[n]), tolerance) << "mode " << n;
    }
}

inline void expect_same_factors(const Factors& a, const Factors& b, double tolerance) {
    ASSERT_EQ(a.size(), b.size());
    for (std::size_t n = 0; n < a.size(); ++n) EXPECT_LT(distance(a[n], b[n]), tolerance) << "mode " << n;
}

/// The same bits whatever the number of threads.
inline void expect_thread_independent(const Clients& clients, const std::string& method, Index rank,
                                      const BaselineOptions& baseline) {
    const int before = thread_count();
    std::vector<double> rse;
    for (const int threads : {1, 2, 5}) {
        set_thread_count(threads);
        Clients again;
        for (const auto& x : clients) again.push_back(Tensor<double>::copy(x.view()));
        rse.push_back(run_on(std::move(again), method, rank, baseline).simulation.rse);
    }
    set_thread_count(before);
    EXPECT_EQ(rse[0], rse[1]);
    EXPECT_EQ(rse[0], rse[2]);
}

}  // namespace couplet::support
