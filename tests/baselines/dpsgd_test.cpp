#include <gtest/gtest.h>

#include "support.hpp"

namespace couplet {
namespace {

using namespace support;

const BaselineOptions exact{.rounds = 6, .tolerance = 0, .tuning = {.step = 0.8, .fibers = 0}};

TEST(Dpsgd, PeersWithTheSameDataDoWhatOneWouldDoAlone) {
    const auto x = normal_tensor({5, 4, 3}, 2);
    Factors expected = start_factors(x, 2);
    for (int round = 0; round < 6; ++round) {
        for (Index mode = 0; mode < 3; ++mode) naive_descend(x.view(), expected, mode, 0.8);
    }
    expect_same_factors(trained_factors(copies(x, 3), "dpsgd", 2, exact), expected, 1e-10);
}

TEST(Dpsgd, LearnsExactLowRankDataOfAnyOrder) {
    for (const Shape& shape : {Shape{20, 12}, Shape{12, 6, 5}, Shape{10, 4, 3, 4}}) {
        const auto result = run_on(cp_clients(3, shape, 2, 4), "dpsgd", 2,
                                   {.rounds = 400, .tolerance = 0, .tuning = {.step = 1, .fibers = 0, .tau = 2}});
        EXPECT_LT(result.simulation.rse, 1e-3) << shape.to_string();
        EXPECT_LT(result.trace.back().rse, result.trace.front().rse);
    }
}

TEST(Dpsgd, AverageOfACompleteGraphIsExact) {
    const auto result = run_on(cp_clients(4, {6, 5, 4}, 2), "dpsgd", 2, exact);
    ASSERT_TRUE(result.simulation.consensus.has_value());
    EXPECT_LT(result.simulation.consensus->error, 1e-12);
    EXPECT_LT(result.simulation.consensus->lambda2, 1e-12);
}

TEST(Dpsgd, PeersOfASparseGraphStayApart) {
    auto options = with_rank(2);
    options.job.graph = "path";
    const auto result = run_method(Method::dpsgd, MemorySource(cp_clients(5, {6, 5, 4}, 2)), std::move(options), exact);
    EXPECT_GT(result.simulation.consensus->error, 1e-6);
    EXPECT_LT(result.simulation.consensus->error, 1);
    EXPECT_EQ(result.simulation.numbers_total,
              (6 + 1) * 2 * 4 * (5 + 4) * 2);  // rounds and the mean, directions, links, numbers
}

TEST(Dpsgd, SendsTheSharedFactorsOverEveryLinkInEveryRound) {
    const auto result = run_on(cp_clients(4, {6, 5, 4}, 2), "dpsgd", 3, exact);
    const double message = 3 * (5 + 4);
    EXPECT_EQ(result.simulation.rounds, 6);
    EXPECT_EQ(result.simulation.numbers_total, 6 * 12 * message);
    EXPECT_EQ(result.simulation.numbers_up_per_client, 6 * message);
    EXPECT_EQ(result.simulation.bytes_up, 6 * 12 * serialised_bytes(message));
    EXPECT_EQ(result.simulation.bytes_down, 0);
}

TEST(Dpsgd, BitsDoNotDependOnThreads) {
    expect_thread_independent(cp_clients(3, {40, 12, 9}, 4), "dpsgd", 4,
                              {.rounds = 5, .tuning = {.fibers = 20, .tau = 2}});
}

/// Three peers on a path 1 - 2 - 3, tau sweeps, then A_n^k <- sum_j m_kj A_n^j; in the end the mean of the shared
/// factors.
TEST(Dpsgd, RoundsAreThoseOfThePaper) {
    const auto data = uneven_clients(3);
    // 1/(1 + max(d_i, d_j)) for every link of the path.
    const double m[3][3] = {{2.0 / 3, 1.0 / 3, 0}, {1.0 / 3, 1.0 / 3, 1.0 / 3}, {0, 1.0 / 3, 2.0 / 3}};
    auto clients = start_all(data);
    for (int round = 0; round < 2; ++round) {
        const double step = 0.8 / (1 + 0.5 * round);
        for (std::size_t k = 0; k < 3; ++k) {
            for (int local = 0; local < 2; ++local) {
                for (std::size_t n = 0; n < 3; ++n) {
                    const auto descent = naive_descent2(data[k], clients[k], static_cast<Index>(n), step);
                    clients[k][n] = plus(clients[k][n], -1, descent);
                }
            }
        }
        std::vector<Factors> stepped;
        for (const Factors& factors : clients) stepped.push_back(clone(factors));
        for (std::size_t k = 0; k < 3; ++k) {
            for (std::size_t n = 1; n < 3; ++n) {
                clients[k][n] = Matrix<double>::zeros(clients[k][n].rows(), 2);
                for (std::size_t j = 0; j < 3; ++j) clients[k][n] = plus(clients[k][n], m[k][j], stepped[j][n]);
            }
        }
    }
    Factors mean(3);
    double apart2 = 0;
    double all2 = 0;
    for (std::size_t n = 1; n < 3; ++n) {
        mean[n] = Matrix<double>::zeros(clients[0][n].rows(), 2);
        for (const Factors& factors : clients) mean[n] = plus(mean[n], 1.0 / 3, factors[n]);
        for (const Factors& factors : clients) {
            apart2 += std::pow(distance(factors[n], mean[n]), 2);
            for (Index i = 0; i < factors[n].size(); ++i) all2 += std::pow(factors[n].data()[i], 2);
        }
    }
    const auto trained =
        train(clone(data), "dpsgd", 2,
              {.rounds = 2, .tolerance = 0, .tuning = {.step = 0.8, .decay = 0.5, .fibers = 0, .tau = 2}},
              {.graph = "path", .weights = "metropolis"});
    expect_trained(trained, clients, mean);
    EXPECT_NEAR(trained.result.simulation.consensus->error, std::sqrt(apart2 / all2), 1e-12);
    EXPECT_EQ(trained.result.simulation.consensus->iterations, 2);
    EXPECT_NEAR(trained.result.simulation.consensus->lambda2, 2.0 / 3, 1e-12);
}

}  // namespace
}  // namespace couplet
