#include <gtest/gtest.h>

#include "support.hpp"

namespace couplet {
namespace {

using namespace support;

TEST(Dpfact, FullAveragingOfOneClientIsCentralizedDescent) {
    const auto x = normal_tensor({5, 4, 3}, 2);
    Factors expected = start_factors(x, 2);
    for (int round = 0; round < 6; ++round) {
        for (Index mode = 0; mode < 3; ++mode) naive_descend(x.view(), expected, mode, 0.8);
    }
    const BaselineOptions options{
        .rounds = 6, .tolerance = 0, .tuning = {.step = 0.8, .fibers = 0, .tau = 1, .rho = 1, .prox = 0}};
    expect_same_factors(trained_factors(copies(x, 1), "dpfact", 2, options), expected, 1e-10);
    expect_same_factors(trained_factors(copies(x, 3), "dpfact", 2, options), expected, 1e-10);
}

TEST(Dpfact, LearnsExactLowRankData) {
    const auto result = run_on(cp_clients(3, {12, 6, 5}, 2, 4), "dpfact", 2,
                               {.rounds = 400, .tolerance = 0, .tuning = {.step = 1, .fibers = 0, .prox = 0}});
    EXPECT_LT(result.simulation.rse, 1e-3);
    EXPECT_LT(result.trace.back().rse, result.trace.front().rse);
}

TEST(Dpfact, ShrinkageTakesColumnsThatAreNotNeeded) {
    // Rank 4 for data of rank 1: without shrinkage all columns of A_1 stay in use.
    const auto used = [](double prox) {
        const BaselineOptions options{.rounds = 200, .tolerance = 0, .tuning = {.fibers = 0, .prox = prox}};
        const auto factors = trained_factors(cp_clients(1, {9, 6, 5}, 1), "dpfact", 4, options);
        int count = 0;
        for (Index r = 0; r < 4; ++r) {
            bool zero = true;
            for (Index i = 0; i < 9; ++i) zero = zero && factors[0](i, r) == 0;
            if (!zero) ++count;
        }
        return count;
    };
    EXPECT_EQ(used(0), 4);
    EXPECT_LT(used(0.1), 4);
    EXPECT_GE(used(0.1), 1);
}

TEST(Dpfact, ClippedGradientsStillLearn) {
    const BaselineOptions options{.rounds = 200, .tolerance = 0, .tuning = {.clip = 0.5}};
    const auto result = run_on(cp_clients(2, {30, 6, 5}, 2), "dpfact", 2, options);
    EXPECT_LT(result.simulation.rse, 0.5);
    EXPECT_FALSE(result.privacy.has_value());
}

TEST(Dpfact, NoiseGivesAStatementAndNoEarlyStop) {
    const BaselineOptions options{.rounds = 30, .tolerance = 0.9, .tuning = {.tau = 2, .clip = 1, .noise = 50}};
    const auto result = run_on(cp_clients(2, {30, 6, 5}, 2), "dpfact", 2, options);
    ASSERT_TRUE(result.privacy.has_value());
    EXPECT_EQ(result.simulation.rounds, 30);
    EXPECT_EQ(result.privacy->releases, 30 * 2 * 2);
    EXPECT_GT(result.privacy->epsilon, 0);
    // The training error is not sent either.
    EXPECT_EQ(result.simulation.numbers_up_per_client, 30 * 2 * (6 + 5));
}

TEST(Dpfact, MoreNoiseIsMorePrivateAndLessAccurate) {
    const auto with = [](double noise) {
        const BaselineOptions options{.rounds = 100, .tuning = {.step = 0.2, .clip = 1, .noise = noise}};
        return run_on(cp_clients(2, {200, 6, 5}, 2), "dpfact", 2, options);
    };
    const auto little = with(0.5);
    const auto much = with(500);
    EXPECT_GT(little.privacy->epsilon, much.privacy->epsilon);
    EXPECT_LT(little.simulation.rse, much.simulation.rse);
}

TEST(Dpfact, CountsFactorsUpAndDown) {
    const auto result = run_on(cp_clients(3, {6, 5, 4}, 2), "dpfact", 2, {.rounds = 4, .tolerance = 0});
    EXPECT_EQ(result.simulation.numbers_up_per_client, 4 * 2 * (5 + 4));
    EXPECT_EQ(result.simulation.numbers_down_per_client, 4 * 2 * (5 + 4));
}

TEST(Dpfact, BitsDoNotDependOnThreads) {
    expect_thread_independent(cp_clients(3, {40, 12, 9}, 4), "dpfact", 4, {.rounds = 5, .tuning = {.fibers = 20}});
    expect_thread_independent(cp_clients(3, {20, 12, 9}, 4), "dpfact", 4,
                              {.rounds = 3, .tuning = {.clip = 1, .noise = 1}});
}

}  // namespace
}  // namespace couplet
