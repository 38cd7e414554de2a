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

TEST(FedgtfEfPc, WithoutCompressionItIsCentralizedBlockDescent) {
    const auto x = normal_tensor({5, 4, 3}, 7);
    Factors expected = start_factors(x, 2);
    Random modes(0, mode_stream);
    for (int i = 0; i < 4 * 5; ++i) {
        naive_descend(x.view(), expected, static_cast<Index>(modes.below(3)), step, ridge);
    }
    auto options = full_precision(4);
    options.tuning.tau = 5;
    expect_same_factors(trained_factors(copies(x, 1), "fedgtf-ef-pc", 2, options), expected, 1e-10);
    expect_same_factors(trained_factors(copies(x, 3), "fedgtf-ef-pc", 2, options), expected, 1e-10);
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

}  // namespace
}  // namespace couplet
