#include <gtest/gtest.h>

#include "support.hpp"

namespace couplet {
namespace {

using namespace support;

TEST(Trip, OneClientIsCentralizedAlternatingLeastSquares) {
    const auto x = normal_tensor({6, 5, 4}, 3);
    constexpr double rho = 0.5;
    Factors expected = start_factors(x, 2);
    std::vector<double> penalty(3);
    const auto agree = [&] {
        for (Index n = 1; n < 3; ++n) {
            const auto gamma = khatri_rao_gram(expected, n);
            penalty[static_cast<std::size_t>(n)] = rho * (gamma(0, 0) + gamma(1, 1)) / 2;
        }
    };
    agree();
    for (int round = 0; round < 5; ++round) {
        expected[0] = solve_right(naive_mttkrp(x.view(), expected, 0), khatri_rao_gram(expected, 0));
        for (Index n = 1; n < 3; ++n) {
            auto target = naive_mttkrp(x.view(), expected, n);
            const double pull = penalty[static_cast<std::size_t>(n)];
            add_scaled(target, pull, expected[static_cast<std::size_t>(n)]);
            expected[static_cast<std::size_t>(n)] = solve_right(target, khatri_rao_gram(expected, n), pull);
        }
        agree();
    }
    const BaselineOptions options{.rounds = 5, .tolerance = 0, .tuning = {.rho = rho}};
    expect_same_factors(trained_factors(copies(x, 1), "trip", 2, options), expected, 1e-9);
    expect_same_factors(trained_factors(copies(x, 3), "trip", 2, options), expected, 1e-9);
}

TEST(Trip, LearnsExactLowRankDataOfAnyOrder) {
    for (const Shape& shape : {Shape{20, 12}, Shape{12, 6, 5}, Shape{10, 4, 3, 4}}) {
        const auto result = run_on(cp_clients(3, shape, 2, 4), "trip", 2, {.rounds = 400, .tolerance = 0});
        EXPECT_LT(result.simulation.rse, 1e-6) << shape.to_string();
    }
}

TEST(Trip, CountsFactorsAndPenalties) {
    const auto result = run_on(cp_clients(3, {6, 5, 4}, 2), "trip", 2, {.rounds = 4, .tolerance = 0});
    EXPECT_EQ(result.simulation.numbers_up_per_client, 2 + 4 * (2 * (5 + 4) + 2));
    EXPECT_EQ(result.simulation.numbers_down_per_client, result.simulation.numbers_up_per_client);
    EXPECT_EQ(result.simulation.rounds, 4);
}

TEST(Trip, BitsDoNotDependOnThreads) {
    expect_thread_independent(cp_clients(3, {40, 12, 9}, 4), "trip", 4, {.rounds = 5});
}

/// Consensus ADMM, two different clients, three rounds: least squares for A_1, shared factors pulled to A - U, the mean
/// of A^k + U^k, duals that are rescaled as the penalty changes.
TEST(Trip, RoundsAreThoseOfConsensusAdmm) {
    constexpr double rho = 0.7;
    const auto data = uneven_clients(2);
    auto own = start_all(data);
    Factors shared = clone(own[0]);
    std::vector<Factors> duals(2);
    for (auto& dual : duals) {
        dual.resize(3);
        for (std::size_t n = 1; n < 3; ++n) dual[n] = Matrix<double>::zeros(shared[n].rows(), 2);
    }
    const auto penalties = [&] {
        std::vector<double> result(3, 0);
        for (std::size_t n = 1; n < 3; ++n) {
            for (const Factors& factors : own) {
                const auto g = naive_gram2(factors, static_cast<Index>(n));
                result[n] += rho * (g(0, 0) + g(1, 1)) / 2 / 2;
            }
        }
        return result;
    };
    auto penalty = penalties();
    for (int round = 0; round < 3; ++round) {
        for (std::size_t k = 0; k < 2; ++k) {
            own[k][0] = naive_solve2(naive_mttkrp(data[k].view(), own[k], 0), naive_gram2(own[k], 0));
            for (std::size_t n = 1; n < 3; ++n) {
                const auto mode = static_cast<Index>(n);
                const auto pulled = plus(shared[n], -1, duals[k][n]);
                const auto target = plus(naive_mttkrp(data[k].view(), own[k], mode), penalty[n], pulled);
                own[k][n] = naive_solve2(target, naive_gram2(own[k], mode), penalty[n]);
            }
        }
        const auto before = penalty;
        penalty = penalties();
        for (std::size_t n = 1; n < 3; ++n) {
            auto mean = Matrix<double>::zeros(shared[n].rows(), 2);
            for (std::size_t k = 0; k < 2; ++k) mean = plus(mean, 0.5, plus(own[k][n], 1, duals[k][n]));
            for (std::size_t k = 0; k < 2; ++k) {
                const auto dual = plus(plus(duals[k][n], 1, own[k][n]), -1, mean);
                duals[k][n] = plus(Matrix<double>::zeros(mean.rows(), 2), before[n] / penalty[n], dual);
            }
            shared[n] = std::move(mean);
        }
    }
    expect_trained(train(clone(data), "trip", 2, {.rounds = 3, .tolerance = 0, .tuning = {.rho = rho}}), own, shared,
                   1e-9);
}

}  // namespace
}  // namespace couplet
