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

}  // namespace
}  // namespace couplet
