#include "couplet/privacy/leakage.hpp"

#include <gtest/gtest.h>

#include "couplet/core/error.hpp"

namespace couplet {
namespace {

TEST(FitPlan, LeavesWhatKeepsTheLimits) {
    const SketchPlan wanted{10, 10, 3, false};
    const auto fitted = fit_plan(wanted, 1200, 500, true);
    EXPECT_EQ(fitted.plan, wanted);
    EXPECT_TRUE(fitted.changes.empty());
    EXPECT_TRUE(fitted.warnings.empty());
    EXPECT_EQ(wanted.directions(500), 60);
    EXPECT_EQ(wanted.directions(15), 15);
    EXPECT_EQ((SketchPlan{10, 10, 3, true}).directions(500), 500);
}

TEST(FitPlan, WarnsBeforeItRefuses) {
    const auto fitted = fit_plan({10, 10, 3, false}, 600, 500, true);
    EXPECT_TRUE(fitted.changes.empty());
    ASSERT_EQ(fitted.warnings.size(), 1U);
    EXPECT_NE(fitted.warnings[0].find("60 directions"), std::string::npos);
}

TEST(FitPlan, GivesUpPassesThenOversamplingThenRank) {
    EXPECT_EQ(fit_plan({10, 10, 3, false}, 599, 500, true).plan, (SketchPlan{10, 10, 2, false}));
    EXPECT_EQ(fit_plan({10, 10, 3, false}, 250, 500, true).plan, (SketchPlan{10, 10, 1, false}));
    EXPECT_EQ(fit_plan({10, 10, 3, false}, 150, 500, true).plan, (SketchPlan{10, 5, 1, false}));
    const auto least = fit_plan({10, 10, 3, false}, 70, 500, true);
    EXPECT_EQ(least.plan, (SketchPlan{7, 0, 1, false}));
    EXPECT_EQ(least.changes, (std::vector<std::string>{"passes 3 -> 1", "oversampling 10 -> 0", "rank 10 -> 7"}));
    // The 320 patients of section 5, 40 of whom collude.
    EXPECT_EQ(fit_plan({30, 10, 2, false}, 280, 1600, true).plan, (SketchPlan{28, 0, 1, false}));
}

TEST(FitPlan, RefusesFewPatients) {
    EXPECT_EQ(fit_plan({1, 0, 1, false}, 10, 500, true).plan.rank, 1);
    EXPECT_THROW(fit_plan({1, 0, 1, false}, 9, 500, true), InputError);
    EXPECT_THROW(fit_plan({1, 0, 1, false}, -40, 500, true), InputError);
}

TEST(FitPlan, CountsWhatTheJobHasShownBefore) {
    const LeakageLimits centred{.shown_before = 2};
    EXPECT_EQ(fit_plan({10, 0, 1, false}, 100, 500, false).plan.rank, 10);
    EXPECT_EQ(fit_plan({10, 0, 1, false}, 100, 500, false, centred).plan.rank, 8);
    EXPECT_EQ(fit_plan({10, 0, 1, false}, 30, 500, false, centred).plan.rank, 1);
    EXPECT_THROW(fit_plan({10, 0, 1, false}, 29, 500, false, centred), InputError);
}

TEST(FitPlan, AGramMatrixNeedsTenPatientsAFeature) {
    EXPECT_TRUE(fit_plan({5, 10, 3, true}, 4800, 480, false).plan.gram);
    EXPECT_THROW(fit_plan({5, 10, 3, true}, 4799, 480, false), InputError);
    const auto left = fit_plan({5, 10, 3, true}, 4799, 480, true);
    EXPECT_EQ(left.plan, (SketchPlan{5, 10, 3, false}));
    EXPECT_EQ(left.changes.front(), "sketch gram -> random");
}

}  // namespace
}  // namespace couplet
