#include "private_simulation.hpp"

#include <gtest/gtest.h>

#include "couplet/core/error.hpp"
#include "datasets.hpp"

namespace couplet::cli {
namespace {

TEST(BudgetOptions, AreWhatTheFlagsSay) {
    EXPECT_FALSE(budget_options({}));
    EXPECT_EQ(budget_options({.secure = true})->mu, usual_mu);
    EXPECT_EQ(budget_options({.secure = true})->place, NoisePlace::distributed);
    EXPECT_FALSE(budget_options({.secure = true, .policy = false}));
    EXPECT_FALSE(budget_options({.secure = true, .mu_off = true}));
    EXPECT_EQ(budget_options({.mu = 2.0})->place, NoisePlace::local);
    EXPECT_FALSE(budget_options({.mu = 2.0})->masked);
    EXPECT_NEAR(budget_options({.epsilon = 1.0})->mu, mu_of_guarantee({1, 1e-5}), 1e-12);
    EXPECT_THROW(budget_options({.epsilon = 1.0, .mu = 1.0}), InputError);
    EXPECT_THROW(budget_options({.secure = true, .policy = true, .mu_off = true}), InputError);
}

TEST(MaskedOutlook, IsWhatASeededJobGivesOrNothing) {
    const MemorySource source(support::synthetic_clients("300x8x9:rank=6,noise=0.1", 3, 4));
    SimulationOptions options;
    const auto outlook = masked_outlook(source, options, 4, 300 * 72);
    ASSERT_TRUE(outlook);
    EXPECT_GT(outlook->bytes_total, 0);
    EXPECT_EQ(masked_outlook(source, options, 4, 300 * 72)->rse, outlook->rse);
    EXPECT_EQ(outlook_json(*outlook)["rse"], outlook->rse);
    EXPECT_NE(outlook_text(*outlook).find("at mu 4"), std::string::npos);
    EXPECT_FALSE(masked_outlook(source, options, 4, Index{1} << 40));
    const MemorySource two(support::synthetic_clients("300x8x9:rank=6,noise=0.1", 3, 2));
    EXPECT_FALSE(masked_outlook(two, options, 4, 300 * 72));
}

}  // namespace
}  // namespace couplet::cli
