#include <gtest/gtest.h>

#include "cp_run.hpp"
#include "support.hpp"

namespace couplet {
namespace {

using namespace support;

constexpr double step = 0.7;
constexpr double ridge = 1e-3;

BaselineOptions full_precision(Index rounds) {
    return {.rounds = rounds,
            .tolerance = 0,
            .compress = false,
            .tuning = {.step = step, .decay = 0, .fibers = 0, .prox = ridge}};
}

TEST(FedgtfEf, WithoutCompressionItIsCentralizedBlockDescent) {
    const auto x = normal_tensor({5, 4, 3}, 6);
    Factors expected = start_factors(x, 2);
    Random modes(0, mode_stream);
    for (int round = 0; round < 7;) {
        const auto mode = static_cast<Index>(modes.below(3));
        naive_descend(x.view(), expected, mode, step, ridge);
        if (mode > 0) ++round;
    }
    expect_same_factors(trained_factors(copies(x, 1), "fedgtf-ef", 2, full_precision(7)), expected, 1e-10);
    expect_same_factors(trained_factors(copies(x, 3), "fedgtf-ef", 2, full_precision(7)), expected, 1e-10);
}

TEST(FedgtfEfPc, OneClientWithoutCompressionIsCentralizedBlockDescent) {
    const auto x = normal_tensor({5, 4, 3}, 7);
    Factors expected = start_factors(x, 2);
    Random modes(0, mode_stream);
    for (int round = 0; round < 4; ++round) {
        std::vector<Index> path;
        for (int i = 0; i < 4; ++i) path.push_back(static_cast<Index>(modes.below(3)));
        path.push_back(1 + static_cast<Index>(modes.below(2)));
        for (const Index mode : path) naive_descend(x.view(), expected, mode, step, ridge);
    }
    // A shared factor shows what was done to it when it is next sent, A_1 at once.
    auto options = full_precision(4);
    options.tuning.tau = 5;
    const auto trained = train(copies(x, 1), "fedgtf-ef-pc", 2, options);
    EXPECT_LT(distance(trained.personal[0], expected[0]), 1e-10);
}

/// Two different clients with signs and error feedback, in the modes that the seed draws.
TEST(FedgtfEf, RoundsAreThoseOfTheSource) {
    const auto data = uneven_clients(2);
    const double norm2 = naive_norm2(data[0]) + naive_norm2(data[1]);
    for (const bool compress : {true, false}) {
        auto clients = start_all(data);
        std::vector<Factors> rest(2);
        for (auto& own : rest) {
            own.resize(3);
            for (std::size_t n = 1; n < 3; ++n) own[n] = Matrix<double>::zeros(clients[0][n].rows(), 2);
        }
        Random modes(0, mode_stream);
        for (int round = 0; round < 6;) {
            const auto mode = static_cast<std::size_t>(modes.below(3));
            const double at = step / (1 + 0.25 * round);
            auto sum = Matrix<double>::zeros(clients[0][mode].rows(), 2);
            for (std::size_t k = 0; k < 2; ++k) {
                auto p = naive_descent2(data[k], clients[k], static_cast<Index>(mode), at, ridge);
                if (mode == 0) {
                    clients[k][0] = plus(clients[k][0], -1, p);
                    continue;
                }
                p = plus(rest[k][mode], naive_norm2(data[k]) / norm2, p);
                if (compress) {
                    const auto signs = naive_signs(p);
                    rest[k][mode] = plus(p, -1, signs);
                    sum = plus(sum, 1, signs);
                } else {
                    sum = plus(sum, 1, p);
                }
            }
            if (mode == 0) continue;
            for (auto& factors : clients) factors[mode] = plus(factors[mode], -1, sum);
            ++round;
        }
        const BaselineOptions options{.rounds = 6,
                                      .tolerance = 0,
                                      .compress = compress,
                                      .tuning = {.step = step, .decay = 0.25, .fibers = 0, .prox = ridge}};
        expect_trained(train(clone(data), "fedgtf-ef", 2, options), clients, clients[0]);
    }
}

/// tau - 1 steps in random modes on copies of one's own, one more in the shared mode that is drawn; the signs of how
/// far that one is from the common factor, with error feedback, are averaged. Other factors stay as they are with each.
TEST(FedgtfEfPc, RoundsAreThoseOfTheSource) {
    const auto data = uneven_clients(2);
    for (const bool compress : {true, false}) {
        auto local = start_all(data);
        Factors shared = clone(local[0]);
        std::vector<Factors> rest(2);
        for (auto& own : rest) {
            own.resize(3);
            for (std::size_t n = 1; n < 3; ++n) own[n] = Matrix<double>::zeros(shared[n].rows(), 2);
        }
        Random modes(0, mode_stream);
        for (int round = 0; round < 5; ++round) {
            const double at = step / (1 + 0.25 * round);
            std::vector<std::size_t> path;
            for (int i = 0; i < 3; ++i) path.push_back(modes.below(3));
            const std::size_t sent = 1 + modes.below(2);
            path.push_back(sent);
            auto sum = Matrix<double>::zeros(shared[sent].rows(), 2);
            for (std::size_t k = 0; k < 2; ++k) {
                for (const std::size_t mode : path) {
                    const auto p = naive_descent2(data[k], local[k], static_cast<Index>(mode), at, ridge);
                    local[k][mode] = plus(local[k][mode], -1, p);
                }
                auto p = plus(local[k][sent], -1, shared[sent]);
                if (compress) {
                    p = plus(p, 1, rest[k][sent]);
                    const auto signs = naive_signs(p);
                    rest[k][sent] = plus(p, -1, signs);
                    sum = plus(sum, 1, signs);
                } else {
                    sum = plus(sum, 1, p);
                }
            }
            shared[sent] = plus(shared[sent], 0.5, sum);
            for (auto& own : local) own[sent] = plus(shared[sent], 0, sum);
        }
        const BaselineOptions options{.rounds = 5,
                                      .tolerance = 0,
                                      .compress = compress,
                                      .tuning = {.step = step, .decay = 0.25, .fibers = 0, .tau = 4, .prox = ridge}};
        expect_trained(train(clone(data), "fedgtf-ef-pc", 2, options), local, shared);
    }
}

class Fedgtf : public ::testing::TestWithParam<const char*> {};

TEST_P(Fedgtf, LearnsExactLowRankDataOfAnyOrder) {
    for (const Shape& shape : {Shape{20, 12}, Shape{12, 6, 5}, Shape{10, 4, 3, 4}}) {
        const auto result = run_on(
            cp_clients(3, shape, 2, 4), GetParam(), 2,
            {.rounds = 1500, .tolerance = 0, .evaluate_every = 100, .tuning = {.decay = 0, .fibers = 0, .prox = 0}});
        EXPECT_LT(result.simulation.rse, 0.01) << shape.to_string();
        EXPECT_LT(result.trace.back().rse, 0.1 * result.trace.front().rse);
    }
}

TEST_P(Fedgtf, CompressionSendsABitAnEntryAndStillLearns) {
    BaselineOptions options{.rounds = 300, .tolerance = 0, .tuning = {.fibers = 0}};
    const auto signs = run_on(cp_clients(2, {12, 8, 8}, 3), GetParam(), 3, options);
    options.compress = false;
    const auto full = run_on(cp_clients(2, {12, 8, 8}, 3), GetParam(), 3, options);
    EXPECT_EQ(signs.simulation.numbers_total, full.simulation.numbers_total);
    // Envelopes are the same; 8 bytes an entry become one bit and a scale for each matrix.
    EXPECT_LT(signs.simulation.bytes_up, 0.6 * full.simulation.bytes_up);
    EXPECT_LT(signs.simulation.rse, 0.2);
}

TEST_P(Fedgtf, LogisticLossLearnsZerosAndOnes) {
    auto clients = cp_clients(2, {15, 6, 6}, 2);
    for (auto& x : clients) {
        for (double& value : x.elements()) value = value > 0 ? 1 : 0;
    }
    const auto result = run_on(std::move(clients), GetParam(), 3,
                               {.loss = Loss::logistic, .rounds = 300, .tolerance = 0, .tuning = {.fibers = 0}});
    // Half of the entries are ones: the constant 1/2 has an RSE of 1/2.
    EXPECT_LT(result.simulation.rse, 0.25);
}

TEST_P(Fedgtf, BitsDoNotDependOnThreads) {
    expect_thread_independent(cp_clients(3, {40, 12, 9}, 4), GetParam(), 4, {.rounds = 12, .tuning = {.fibers = 20}});
}

INSTANTIATE_TEST_SUITE_P(Both, Fedgtf, ::testing::Values("fedgtf-ef", "fedgtf-ef-pc"), [](const auto& given) {
    return std::string(given.param) == "fedgtf-ef" ? "PerRound" : "Periodic";
});

TEST(FedgtfEf, CountsOneFactorARoundUpAndDown) {
    const auto result =
        run_on(cp_clients(3, {6, 4, 4}, 2), "fedgtf-ef", 2, {.rounds = 10, .tolerance = 0, .tuning = {.fibers = 0}});
    EXPECT_EQ(result.simulation.rounds, 10);
    EXPECT_EQ(result.simulation.numbers_up_per_client, 10 * 8);
    EXPECT_EQ(result.simulation.numbers_down_per_client, 10 * 8);
    EXPECT_EQ(result.simulation.bytes_up, 3 * 10 * (serialised_bytes(0) + 1 + 8));
    // Down go the three messages as they came: 27 bytes are less than 64.
    EXPECT_EQ(result.simulation.bytes_down, 3 * 10 * (serialised_bytes(0) + 27));
}

TEST(FedgtfEfPc, CountsOneFactorARoundUpAndDown) {
    const auto result =
        run_on(cp_clients(3, {6, 4, 4}, 2), "fedgtf-ef-pc", 2, {.rounds = 10, .tolerance = 0, .tuning = {.fibers = 0}});
    EXPECT_EQ(result.simulation.rounds, 10);
    EXPECT_EQ(result.simulation.numbers_up_per_client, 10 * 8);
    EXPECT_EQ(result.simulation.numbers_down_per_client, 10 * 8);
    EXPECT_EQ(result.simulation.bytes_up, 3 * 10 * (serialised_bytes(0) + 1 + 8));
    EXPECT_EQ(result.simulation.bytes_down, 3 * 10 * (serialised_bytes(0) + 27));
}

TEST(FedgtfEf, TheSumGoesDownInTheShorterForm) {
    // Forty messages of one byte and a scale are longer than eight numbers in full.
    const auto many =
        run_on(cp_clients(40, {2, 4, 4}, 2), "fedgtf-ef", 2, {.rounds = 2, .tolerance = 0, .tuning = {.fibers = 0}});
    EXPECT_EQ(many.simulation.bytes_down, 40 * 2 * (serialised_bytes(0) + 8 * 8));
    const auto full = run_on(cp_clients(2, {6, 4, 4}, 2), "fedgtf-ef", 2, full_precision(2));
    EXPECT_EQ(full.simulation.bytes_up, 2 * 2 * (serialised_bytes(0) + 8 * 8));
    EXPECT_EQ(full.simulation.bytes_down, 2 * 2 * (serialised_bytes(0) + 8 * 8));
}

}  // namespace
}  // namespace couplet
