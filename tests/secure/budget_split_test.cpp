#include "couplet/secure/budget_split.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "couplet/core/error.hpp"
#include "couplet/privacy/gaussian.hpp"

namespace couplet {
namespace {

double whole(const BudgetSplit& split) {
    double sum = 0;
    for (const auto stage : {BudgetStage::counts, BudgetStage::modes, BudgetStage::core, BudgetStage::error}) {
        sum += split.part(stage);
    }
    return sum;
}

TEST(PlanBudget, SpendsAllOfItAndLeavesWhatCountsWereTold) {
    for (const double patients : {1.0, 160.0, 4000.0, 1e6}) {
        const BudgetPlan plan = plan_budget(patients, 4, {40, 40}, 10);
        EXPECT_NEAR(whole(plan.split), 1, 1e-15);
        EXPECT_EQ(plan.split.counts, first_split().counts);
        EXPECT_EQ(plan.split.error, first_split().error);
        EXPECT_EQ(plan.split.core > 0, plan.columns > 0);
        EXPECT_EQ(plan.split.part(BudgetStage::done), 0);
    }
}

TEST(PlanBudget, AsksForTheCoreWhereManyPatientsHideItsNoise) {
    EXPECT_EQ(plan_budget(160, 4, {40, 40}, 10).columns, 0);
    EXPECT_EQ(plan_budget(4000, 4, {40, 40}, 10).columns, 100);
    EXPECT_EQ(plan_budget(4000, 4, {40, 40}, 80).columns, 160);
    EXPECT_EQ(plan_budget(4000, 1, {40, 40}, 20).columns, 100);
    EXPECT_EQ(plan_budget(4000, 1, {40, 40}, 50).columns, 0);  // many directions: their noise costs more than it brings
    EXPECT_EQ(plan_budget(4000, 0.1, {40, 40}, 10).columns, 0);
    EXPECT_EQ(plan_budget(4000, 4, {6, 5}, 10).columns, 30);  // all products: the whole Gram matrix
    EXPECT_EQ(plan_budget(1e9, 4, {1600}, 10).columns, 0);    // one mode is the whole
}

/// What the shares of the noise and the sensitivity of the rounded sum promise together is mu.
TEST(FitNoise, KeepsMuWithTheSharesThatAreEnough) {
    for (const double mu : {0.01, 0.5, 4.0, 1000.0}) {
        for (const Index shares : {1, 3, 60}) {
            for (const std::int64_t numbers : {2, 1640, 500'000}) {
                for (const bool integers : {false, true}) {
                    const NoiseGrid grid = fit_noise(M_SQRT2, numbers, mu, shares, integers);
                    const double exact = M_SQRT2 / grid.step;
                    const double change = integers ? exact : rounded_sensitivity(exact, numbers);
                    const double sigma = std::sqrt(static_cast<double>(grid.variance) * static_cast<double>(shares));
                    EXPECT_LE(change / sigma, mu * (1 + 1e-12));
                    EXPECT_GE(change / sigma, mu / 1.01);
                    EXPECT_LE(change, 1.03 * exact);
                    EXPECT_GE(grid.variance, 64U);
                    if (integers) EXPECT_EQ(std::round(0.5 / grid.step), 0.5 / grid.step);
                }
            }
        }
    }
    EXPECT_THROW(fit_noise(1, 10, 1e-9, 1, false), InputError);
}

TEST(BudgetStage, HasNames) {
    EXPECT_EQ(to_string(BudgetStage::counts), "counts");
    EXPECT_EQ(to_string(BudgetStage::done), "done");
}

}  // namespace
}  // namespace couplet
