#include "couplet/audit/membership.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "couplet/core/random.hpp"

namespace couplet {
namespace {

TEST(AucBelow, CountsPairs) {
    const std::vector<double> members{0.1, 0.4};
    const std::vector<double> controls{0.3, 0.4, 0.5};
    // Below: 0.1 all three; 0.4 one and a tie.
    EXPECT_NEAR(auc_below(members, controls).value, (3 + 1.5) / 6, 1e-15);
    EXPECT_NEAR(auc_below(controls, members).value, 1 - 4.5 / 6, 1e-15);
}

TEST(AucBelow, HasTheWiderOfTwoIntervals) {
    // Scores in two lumps, which vary more than any that are spread: DeLong's. Half of the members are below all
    // controls, half above: 0.5, the members' placements are 1 and 0, the controls' all 1/2.
    std::vector<double> members(100, 0);
    std::fill_n(members.begin(), 50, 2);
    const std::vector<double> controls(1000, 1);
    const Auc lumps = auc_below(members, controls);
    EXPECT_NEAR(lumps.value, 0.5, 1e-15);
    EXPECT_NEAR(lumps.low, 0.5 - 1.959964 * std::sqrt(0.25 / 99), 1e-6);
    EXPECT_NEAR(lumps.high, 0.5 + 1.959964 * std::sqrt(0.25 / 99), 1e-6);
    // All scores alike, or none among the others: Newcombe's, which does not shrink to a point.
    const Auc alike = auc_below(std::vector<double>(20, 1), std::vector<double>(5, 1));
    EXPECT_NEAR(alike.value, 0.5, 1e-15);
    EXPECT_LT(alike.low, 0.3);
    EXPECT_GT(alike.high, 0.7);
    const Auc apart = auc_below(std::vector<double>(20, 1), std::vector<double>(3, 2));
    EXPECT_EQ(apart.value, 1);
    EXPECT_LT(apart.low, 0.8);
    EXPECT_EQ(apart.high, 1);
}

TEST(NewcombeInterval, EndsWhereTheValueIsTwoDeviationsAway) {
    for (const double value : {0.5, 0.83, 0.99}) {
        const Auc auc = newcombe_interval(value, 40, 7, two_sided_95);
        for (const double end : {auc.low, auc.high}) {
            const double variance = end * (1 - end) / 280 * (1 + 22.5 * ((1 - end) / (2 - end) + end / (1 + end)));
            EXPECT_NEAR(std::abs(end - value) / std::sqrt(variance), two_sided_95, 1e-6) << value;
        }
    }
}

TEST(AucBelow, KeepsItsOrderUnderRounding) {
    for (const std::size_t members : {3U, 7U, 49U, 1000U}) {
        for (const std::size_t controls : {1U, 3U, 11U}) {
            const Auc auc = auc_below(std::vector<double>(members, 0), std::vector<double>(controls, 1));
            EXPECT_LE(auc.low, auc.value);
            EXPECT_LE(auc.value, auc.high);
            EXPECT_LE(auc.high, 1);
        }
    }
}

/// DeLong's interval alone covers 0.5 in some 60 of 100 such trials.
TEST(AucBelow, CoversTheTruthWithAHandfulOfControls) {
    for (const int count : {3, 5}) {
        int covered = 0;
        Random random(6);
        for (int trial = 0; trial < 200; ++trial) {
            std::vector<double> members(300);
            std::vector<double> controls(static_cast<std::size_t>(count));
            for (double& value : members) value = random.normal();
            for (double& value : controls) value = random.normal();
            const Auc auc = auc_below(members, controls);
            covered += auc.low <= 0.5 && 0.5 <= auc.high;
        }
        EXPECT_GT(covered, 185) << count;
    }
}

TEST(AucBelow, CoversTheTruthNineteenTimesInTwenty) {
    // Normal scores one standard deviation apart: AUC = Phi(1 / sqrt(2)).
    const double truth = 0.5 * std::erfc(-0.5);
    int covered = 0;
    Random random(5);
    for (int trial = 0; trial < 400; ++trial) {
        std::vector<double> members(60);
        std::vector<double> controls(80);
        for (double& value : members) value = random.normal();
        for (double& value : controls) value = random.normal() + 1;
        const Auc auc = auc_below(members, controls);
        covered += auc.low <= truth && truth <= auc.high;
    }
    EXPECT_GT(covered, 365);
    EXPECT_LT(covered, 398);
}

TEST(AucBelow, KnowsNothingWithoutPeople) {
    const Auc auc = auc_below({}, std::vector<double>{1, 2});
    EXPECT_EQ(auc.value, 0.5);
    EXPECT_EQ(auc.low, 0);
    EXPECT_EQ(auc.high, 1);
}

TEST(InferMembership, MeasuresTheResidualOnTheRowSpace) {
    const std::vector<double> rows{1, 0, 0, 0, 2, 0};
    const std::vector<double> inside{3, 1, 0, 0, 0, 0, 1, 2, 0.1};
    const std::vector<double> outside{1, 0, 1, 0, 0, 5};
    const Auc auc = infer_membership({rows.data(), 2, 3}, {inside.data(), 3, 3}, {outside.data(), 2, 3});
    EXPECT_EQ(auc.value, 1);
    EXPECT_EQ(infer_membership({rows.data(), 0, 3}, {inside.data(), 3, 3}, {outside.data(), 2, 3}).value, 0.5);
    // Everybody inside: rounding must not tell them apart.
    const std::vector<double> all{1, 0, 0, 0, 1, 0, 0, 0, 1};
    EXPECT_EQ(infer_membership({all.data(), 3, 3}, {inside.data(), 3, 3}, {outside.data(), 2, 3}).value, 0.5);
}

TEST(InferMembership, MeasuresTheLeverageWhereTheRowSpaceIsEverything) {
    Random random(8);
    Matrix<double> members(60, 30);
    Matrix<double> controls(200, 30);
    for (auto* people : {&members, &controls}) {
        for (Index i = 0; i < people->size(); ++i) people->data()[i] = random.normal();
    }
    const Auc auc = infer_membership(members.view(), members.view(), controls.view());
    EXPECT_GT(auc.value, 0.9);
    EXPECT_GT(auc.low, 0.85);
    // Who took part elsewhere cannot be told.
    Matrix<double> others(60, 30);
    for (Index i = 0; i < others.size(); ++i) others.data()[i] = random.normal();
    EXPECT_LT(infer_membership(others.view(), members.view(), controls.view()).low, 0.55);
}

}  // namespace
}  // namespace couplet
