#include "couplet/secure/shield_report.hpp"

#include <gtest/gtest.h>

namespace couplet {
namespace {

TEST(ShieldReportTest, WithoutAPlanItTellsTheTerms) {
    const ShieldReport report = report_of({}, nullptr);
    EXPECT_TRUE(report.secure);
    EXPECT_TRUE(report.policy);
    EXPECT_EQ(report.ring_bits, 0);
    EXPECT_FALSE(report_of({.policy = false}, nullptr).policy);
    EXPECT_FALSE(report_of({.guarantee = PrivacyGuarantee{}, .clip = 1}, nullptr).policy)
        << "noise takes the place of the policy";
}

TEST(ShieldReportTest, TellsThePlan) {
    ShieldPlan plan;
    plan.sums = 3;
    plan.directions = 7;
    plan.clip = 2.5;
    plan.changes = {"fewer"};
    plan.warnings = {"small"};
    const ShieldReport report = report_of({}, &plan);
    EXPECT_EQ(report.ring_bits, plan.how.ring.bits());
    EXPECT_EQ(report.sums, 3);
    EXPECT_EQ(report.directions, 7);
    EXPECT_EQ(report.clip, 2.5);
    EXPECT_EQ(report.changes, plan.changes);
    EXPECT_EQ(report.warnings, plan.warnings);
    EXPECT_FALSE(report.noise);
}

}  // namespace
}  // namespace couplet
