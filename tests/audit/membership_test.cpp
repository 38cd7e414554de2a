#include "couplet/audit/membership.hpp"

#include <gtest/gtest.h>

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

TEST(AucBelow, HasDeLongsInterval) {
    const std::vector<double> members{1, 2, 4};
    const std::vector<double> controls{3, 5};
    // Placements: members 1, 1, 1/2; controls 2/3, 1. Variances 1/12/3 and 1/18/2.
    const double sd = std::sqrt(1.0 / 36 + 1.0 / 36);
    const Auc auc = auc_below(members, controls);
    EXPECT_NEAR(auc.value, 5.0 / 6, 1e-15);
    EXPECT_NEAR(auc.low, 5.0 / 6 - 1.959964 * sd, 1e-6);
    EXPECT_EQ(auc.high, 1);
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
    EXPECT_LT(covered, 395);
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

}  // namespace
}  // namespace couplet
