#include "couplet/baselines/tune.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <memory>

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
        EXPECT_GT(trial.seconds, 0);
        EXPECT_EQ(trial.trace.back().bytes, trial.bytes);
    }
    // What was found is what running it gives.
    const auto again = run_method(Method::fedgtf_ef, source, with_rank(2),
                                  {.rounds = 15, .tuning = outcome.trials[outcome.best].tuning});
    EXPECT_EQ(again.simulation.rse, outcome.trials[outcome.best].rse);
}

TEST(Tune, OnlyMethodsWithParametersCanBeTuned) {
    const MemorySource source(cp_clients(2, {4, 3, 2}, 1));
    EXPECT_THROW(tune_method(Method::fedsvd, source, with_rank(1), {}), InputError);
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

/// Clients that cannot be read for the first `failures` times.
class Stubborn : public MemorySource {
  public:
    Stubborn(Clients clients, int failures) : MemorySource(std::move(clients)), failures_(failures) {}
    std::shared_ptr<const Tensor<double>> client(Index k) const override {
        if (k == 0 && failures_-- > 0) throw RunError({"client", "unreadable", "readable", ""});
        return MemorySource::client(k);
    }

  private:
    mutable std::atomic<int> failures_;
};

TEST(Tune, ATrialThatFailsHasNoErrorAndIsNeverTheBest) {
    const auto outcome =
        tune_method(Method::trip, Stubborn(cp_clients(2, {6, 4, 3}, 2), 2), with_rank(2), {.rounds = 3});
    ASSERT_EQ(outcome.trials.size(), grid_size);
    EXPECT_FALSE(outcome.trials[0].rse);
    EXPECT_FALSE(outcome.trials[1].rse);
    EXPECT_TRUE(outcome.trials[0].trace.empty());
    EXPECT_TRUE(outcome.trials[2].rse);
    EXPECT_GE(outcome.best, 2U);
    EXPECT_EQ(outcome.trials[0].rounds, 0);
    EXPECT_EQ(outcome.trials[2].rounds, 3);
    EXPECT_EQ(outcome.trials[0].tuning, (Tuning{.rho = 0.1}));
}

TEST(Tune, WhenAllFailItSaysSo) {
    try {
        tune_method(Method::trip, Stubborn(cp_clients(2, {6, 4, 3}, 2), 1000), with_rank(2), {.rounds = 3});
        FAIL();
    } catch (const RunError& error) {
        EXPECT_EQ(std::string(error.what()),
                  "trip: every tuning of the grid diverged; expected one that converges. Try another rank.");
    }
}

TEST(Tune, OfEqualsTheFirstIsTaken) {
    Clients zeros;
    for (int k = 0; k < 2; ++k) zeros.push_back(Tensor<double>::zeros({4, 3, 2}));
    const auto outcome = tune_method(Method::trip, MemorySource(std::move(zeros)), with_rank(2), {.rounds = 2});
    EXPECT_EQ(outcome.best, 0U);
}

TEST(Tune, AMethodWithoutAGridIsToldSo) {
    try {
        tune_method(Method::fedsvd, MemorySource(cp_clients(2, {4, 3, 2}, 1)), with_rank(1), {});
        FAIL();
    } catch (const InputError& error) {
        EXPECT_EQ(std::string(error.what()),
                  "`method`: fedsvd; expected a method with parameters to tune. The others have none.");
    }
}

TEST(Tune, FingerprintIsShapeClientsAndNorm) {
    Clients clients;
    for (const Index rows : {2, 3}) {
        auto x = Tensor<double>::zeros({rows, 3, 2});
        x.data()[0] = static_cast<double>(rows) + 1;  // 3 and 4: a norm of 5
        clients.push_back(std::move(x));
    }
    EXPECT_EQ(fingerprint(MemorySource(std::move(clients))), "5x3x2 K=2 norm=5.00000000e+00");
}

}  // namespace
}  // namespace couplet
