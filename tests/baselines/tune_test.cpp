#include "couplet/baselines/tune.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "couplet/core/error.hpp"
#include "support.hpp"

namespace couplet {
namespace {

using namespace support;

TEST(Tune, PicksTheBestOfTheGrid) {
    const MemorySource source(cp_clients(2, {10, 5, 4}, 2));
    std::size_t heard = 0;
    const auto outcome = tune_method(Method::fedgtf_ef, source, with_rank(2), {.rounds = 15},
                                     [&](std::size_t trial, const TuningTrial&) { EXPECT_EQ(trial, heard++); });
    ASSERT_EQ(outcome.trials.size(), grid_size);
    EXPECT_EQ(heard, grid_size);
    for (const TuningTrial& trial : outcome.trials) {
        ASSERT_TRUE(trial.rse.has_value());
        EXPECT_GE(*trial.rse, *outcome.trials[outcome.best].rse);
        EXPECT_GT(trial.bytes, 0);
    }
    // What was found is what running it gives.
    const auto again = run_method(Method::fedgtf_ef, source, with_rank(2),
                                  {.rounds = 15, .tuning = outcome.trials[outcome.best].tuning});
    EXPECT_EQ(again.simulation.rse, outcome.trials[outcome.best].rse);
}

TEST(Tune, OnlyMethodsWithParametersCanBeTuned) {
    const MemorySource source(cp_clients(2, {4, 3, 2}, 1));
    for (const Method method : {Method::ctt, Method::centralized, Method::local, Method::fedsvd}) {
        EXPECT_THROW(tune_method(method, source, with_rank(1), {}), InputError);
    }
    EXPECT_THROW(tune_method(Method::trip, source, {}, {}), InputError);  // no rank
}

TEST(Tune, FingerprintTellsDataApart) {
    const auto text = fingerprint(MemorySource(cp_clients(2, {4, 3, 2}, 1)));
    EXPECT_TRUE(text.starts_with("8x3x2 K=2 norm=")) << text;
    EXPECT_EQ(text, fingerprint(MemorySource(cp_clients(2, {4, 3, 2}, 1))));
    EXPECT_NE(text, fingerprint(MemorySource(cp_clients(2, {4, 3, 2}, 1, 5))));  // other numbers
    EXPECT_NE(text, fingerprint(MemorySource(cp_clients(2, {4, 2, 3}, 1))));     // other shape
    auto one = cp_clients(2, {4, 3, 2}, 1);
    one.pop_back();
    EXPECT_NE(text, fingerprint(MemorySource(std::move(one))));
}

}  // namespace
}  // namespace couplet
