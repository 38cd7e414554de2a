#include <gtest/gtest.h>

#include "cp_run.hpp"
#include "support.hpp"

namespace couplet {
namespace {

using namespace support;

TEST(Cidertf, PeersWithTheSameDataDoWhatOneWouldDoAlone) {
    const auto x = normal_tensor({5, 4, 3}, 2);
    Factors expected = start_factors(x, 2);
    Random modes(0, mode_stream);
    for (int round = 0; round < 5; ++round) {
        std::vector<Index> path;
        for (int i = 0; i < 3; ++i) path.push_back(static_cast<Index>(modes.below(3)));
        modes.below(2);  // the factor that travels
        for (const Index mode : path) naive_descend(x.view(), expected, mode, 0.8);
    }
    for (const bool compress : {false, true}) {
        const BaselineOptions options{.rounds = 5,
                                      .tolerance = 0,
                                      .compress = compress,
                                      .tuning = {.step = 0.8, .decay = 0, .fibers = 0, .tau = 3, .threshold = 0}};
        expect_same_factors(trained_factors(copies(x, 3), "cidertf", 2, options), expected, 1e-10);
    }
}

TEST(Cidertf, LearnsExactLowRankDataOfAnyOrder) {
    for (const Shape& shape : {Shape{20, 12}, Shape{12, 6, 5}, Shape{10, 4, 3, 4}}) {
        const auto result = run_on(cp_clients(3, shape, 2, 4), "cidertf", 2,
                                   {.rounds = 800, .tolerance = 0, .evaluate_every = 100, .tuning = {.fibers = 0}});
        EXPECT_LT(result.simulation.rse, 0.02) << shape.to_string();
        EXPECT_LT(result.trace.back().rse, 0.1 * result.trace.front().rse);
    }
}

TEST(Cidertf, GossipBringsPeersTogether) {
    const auto apart = [](double gossip) {
        const BaselineOptions options{.rounds = 100,
                                      .tolerance = 0,
                                      .compress = false,
                                      .tuning = {.fibers = 0, .threshold = 0, .gossip = gossip}};
        return run_on(cp_clients(4, {8, 6, 5}, 3), "cidertf", 2, options).simulation.consensus->error;
    };
    EXPECT_LT(apart(1), 0.5 * apart(0.05));
}

TEST(Cidertf, TheTriggerDecidesHowManyMessagesAreSent) {
    const auto numbers = [](double threshold) {
        const BaselineOptions options{.rounds = 60, .tolerance = 0, .tuning = {.fibers = 0, .threshold = threshold}};
        return run_on(cp_clients(3, {8, 6, 6}, 2), "cidertf", 2, options).simulation;
    };
    const auto always = numbers(0);
    // Every round one factor goes over all six directed links.
    const double mean = 4 * 24;  // of both factors in the end, up and down a tree of three peers
    EXPECT_EQ(always.numbers_total, 60 * 6 * 12 + mean);
    EXPECT_EQ(always.bytes_up, 60 * 6 * (serialised_bytes(0) + 2 + 8) + 4 * serialised_bytes(24));
    const auto sometimes = numbers(0.02);
    EXPECT_GT(sometimes.numbers_total, mean);
    EXPECT_LT(sometimes.numbers_total, always.numbers_total);
    EXPECT_EQ(numbers(1e6).numbers_total, mean);
}

TEST(Cidertf, LogisticLossLearnsZerosAndOnes) {
    auto clients = cp_clients(2, {15, 6, 6}, 2);
    for (auto& x : clients) {
        for (double& value : x.elements()) value = value > 0 ? 1 : 0;
    }
    const auto result = run_on(std::move(clients), "cidertf", 3,
                               {.loss = Loss::logistic, .rounds = 200, .tolerance = 0, .tuning = {.fibers = 0}});
    EXPECT_LT(result.simulation.rse, 0.25);
}

TEST(Cidertf, BitsDoNotDependOnThreads) {
    expect_thread_independent(cp_clients(3, {40, 12, 9}, 4), "cidertf", 4, {.rounds = 8, .tuning = {.fibers = 20}});
}

/// Three different peers on a path. The trigger compares with ||A||^2: the threshold is such that some fire and some do
/// not.
TEST(Cidertf, RoundsAreThoseOfThePaper) {
    const auto data = uneven_clients(3);
    const double m[3][3] = {{2.0 / 3, 1.0 / 3, 0}, {1.0 / 3, 1.0 / 3, 1.0 / 3}, {0, 1.0 / 3, 2.0 / 3}};
    const double degree[3] = {1, 2, 1};
    constexpr double threshold = 0.05;
    constexpr double gossip = 0.6;
    for (const bool compress : {true, false}) {
        auto clients = start_all(data);
        std::vector<Factors> copies;  // of client k, at its neighbours
        for (const Factors& factors : clients) copies.push_back(clone(factors));
        Random modes(0, mode_stream);
        double messages = 0;
        double numbers = 0;
        for (int round = 0; round < 6; ++round) {
            const double step = 0.8 / (1 + 0.5 * round);
            std::vector<std::size_t> path{modes.below(3), modes.below(3)};
            const std::size_t sent = 1 + modes.below(2);
            for (std::size_t k = 0; k < 3; ++k) {
                for (const std::size_t mode : path) {
                    const auto p = naive_descent2(data[k], clients[k], static_cast<Index>(mode), step);
                    clients[k][mode] = plus(clients[k][mode], -1, p);
                }
            }
            for (std::size_t k = 0; k < 3; ++k) {
                const Matrix<double>& a = clients[k][sent];
                const auto change = plus(a, -1, copies[k][sent]);
                double change2 = 0;
                double size2 = 0;
                for (Index i = 0; i < a.size(); ++i) {
                    change2 += change.data()[i] * change.data()[i];
                    size2 += a.data()[i] * a.data()[i];
                }
                if (!(change2 > threshold * size2)) continue;
                messages += degree[k];
                numbers += degree[k] * static_cast<double>(a.size());
                const auto signs = naive_signs(change);
                copies[k][sent] = plus(copies[k][sent], 1, compress ? signs : change);
            }
            for (std::size_t k = 0; k < 3; ++k) {
                for (std::size_t j = 0; j < 3; ++j) {
                    const auto towards = plus(copies[j][sent], -1, copies[k][sent]);
                    if (j != k) clients[k][sent] = plus(clients[k][sent], gossip * m[k][j], towards);
                }
            }
        }
        EXPECT_GT(messages, 0);
        EXPECT_LT(messages, 6 * 4);
        Factors mean(3);
        for (std::size_t n = 1; n < 3; ++n) {
            mean[n] = Matrix<double>::zeros(clients[0][n].rows(), 2);
            for (const Factors& factors : clients) mean[n] = plus(mean[n], 1.0 / 3, factors[n]);
        }
        const BaselineOptions options{
            .rounds = 6,
            .tolerance = 0,
            .compress = compress,
            .tuning = {.step = 0.8, .decay = 0.5, .fibers = 0, .tau = 2, .threshold = threshold, .gossip = gossip}};
        const auto trained = train(clone(data), "cidertf", 2, options, {.graph = "path", .weights = "metropolis"});
        expect_trained(trained, clients, mean);
        // The mean goes up and down a tree of three: four messages of 2 (3 + 2) numbers.
        EXPECT_EQ(trained.result.simulation.numbers_total, numbers + 4 * 10);
        if (!compress) {
            EXPECT_EQ(trained.result.simulation.bytes_up,
                      messages * serialised_bytes(0) + 8 * numbers + 4 * serialised_bytes(10));
        }
    }
}

}  // namespace
}  // namespace couplet
