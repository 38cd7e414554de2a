#include <gtest/gtest.h>

#include <algorithm>

#include "cp_run.hpp"
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

struct Setting {
    double rho = 0.6;
    double prox = 0;
    double clip = 0;  ///< relative, as the flag
    double noise = 0;
};

/// Gradient of 1/2 ||X - M||^2 as a sum over patients, each scaled down to a norm of `clip`.
Matrix<double> naive_clipped(const Tensor<double>& x, const Factors& factors, Index mode, double clip) {
    auto sum = Matrix<double>::zeros(x.shape()[mode], 2);
    for (Index i = 0; i < x.shape()[0]; ++i) {
        const auto patient = Tensor<double>::copy(x.view().rows(i, 1));
        Factors own = clone(factors);
        own[0] = Matrix<double>::copy(factors[0].view().rows_from(i, 1));
        const auto part = naive_gradient(patient.view(), own, mode);
        double norm2 = 0;
        for (Index j = 0; j < part.size(); ++j) norm2 += part.data()[j] * part.data()[j];
        sum = plus(sum, std::min(1.0, clip / std::sqrt(norm2)), part);
    }
    return sum;
}

/// Columns of A_1 lose `amount` times the norm of the longest one.
void naive_shrink(Matrix<double>& a, double amount) {
    double norms[2] = {};
    for (Index r = 0; r < 2; ++r) {
        for (Index i = 0; i < a.rows(); ++i) norms[r] += a(i, r) * a(i, r);
        norms[r] = std::sqrt(norms[r]);
    }
    const double loss = amount * std::max(norms[0], norms[1]);
    for (Index r = 0; r < 2; ++r) {
        for (Index i = 0; i < a.rows(); ++i) a(i, r) *= std::max(0.0, norms[r] - loss) / norms[r];
    }
}

/// Elastic averaging, two different clients: tau sweeps, each factor stepped by its gradient and pulled to the shared
/// one; the server moves by the sum of the differences.
void expect_dpfact(const Setting& setting) {
    const auto data = uneven_clients(2);
    auto elastic = start_all(data);
    Factors shared = clone(elastic[0]);
    const double pull = setting.rho / 2;
    const double clip = setting.clip * (naive_norm2(data[0]) + naive_norm2(data[1])) / (4 + 5);
    std::vector<Random> random{Random(0, client_stream), Random(0, client_stream + 1)};
    for (int round = 0; round < 2; ++round) {
        const double step = 0.8 / (1 + 0.5 * round);
        for (std::size_t k = 0; k < 2; ++k) {
            Factors& own = elastic[k];
            for (int local = 0; local < 2; ++local) {
                own[0] = plus(own[0], -1, naive_descent2(data[k], own, 0, step));
                if (setting.prox > 0) naive_shrink(own[0], step * setting.prox);
                for (std::size_t n = 1; n < 3; ++n) {
                    const auto mode = static_cast<Index>(n);
                    auto descent = naive_descent2(data[k], own, mode, step);
                    if (clip > 0) {
                        descent = naive_clipped(data[k], own, mode, clip);
                        for (Index i = 0; i < descent.size(); ++i) {
                            if (setting.noise > 0) descent.data()[i] += setting.noise * clip * random[k].normal();
                            descent.data()[i] *= step * std::sqrt(2.0) / (static_cast<double>(4 + k) * clip);
                        }
                    }
                    const auto away = plus(own[n], -1, shared[n]);
                    own[n] = plus(plus(own[n], -1, descent), -pull, away);
                }
            }
        }
        for (std::size_t n = 1; n < 3; ++n) {
            const auto first = plus(elastic[0][n], -1, shared[n]);
            const auto second = plus(elastic[1][n], -1, shared[n]);
            shared[n] = plus(plus(shared[n], pull, first), pull, second);
        }
    }
    Tuning tuning{.step = 0.8, .decay = 0.5, .fibers = 0, .tau = 2, .rho = setting.rho};
    if (setting.noise == 0) tuning.prox = setting.prox;
    tuning.clip = setting.clip;
    tuning.noise = setting.noise;
    expect_trained(train(clone(data), "dpfact", 2, {.rounds = 2, .tolerance = 0, .tuning = tuning}), elastic, shared);
}

TEST(Dpfact, RoundsAreThoseOfElasticAveraging) { expect_dpfact({}); }

TEST(Dpfact, ColumnsShrinkInEverySweep) { expect_dpfact({.prox = 0.3}); }

TEST(Dpfact, AClippedStepLooksAtNothingPrivate) {
    // Some patients are above the clip and some below.
    expect_dpfact({.clip = 0.5});
    expect_dpfact({.prox = 0.1, .clip = 1e6});
    // And all of them above one that is small beside 1.
    expect_dpfact({.clip = 1e-3});
}

TEST(Dpfact, NoiseIsThatManyTimesTheClipAndEverybodysOwn) {
    expect_dpfact({.clip = 0.5, .noise = 2});
    expect_dpfact({.clip = 2, .noise = 0.25});
    expect_dpfact({.clip = 1e-3, .noise = 0.5});
}

}  // namespace
}  // namespace couplet
