#include "couplet/audit/recovery.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace couplet {
namespace {

TEST(CountRecovered, CorrelatesUpToSignAndScale) {
    const std::vector<double> people{1, 0, 0, 2, 0, 0, 3, 1, 0, 0, 0, 0};
    const std::vector<double> guesses{-3, 0, 0, -6, 9, 8, 9, 9};
    // The first is the first guess turned round; the second is neither; the third is zero.
    EXPECT_EQ(count_recovered({guesses.data(), 2, 4}, {people.data(), 3, 4}), 1);
    EXPECT_EQ(count_recovered({guesses.data(), 0, 4}, {people.data(), 3, 4}), 0);
}

TEST(CountRecovered, NeedsMoreThanNineTenths) {
    // Correlations 0.866 and 0.945.
    const std::vector<double> guess{1, 0, 0, 0};
    const std::vector<double> far{3, 1, 1, -1};
    const std::vector<double> near{3, 0, 0.5, -0.5};
    EXPECT_EQ(count_recovered({guess.data(), 1, 4}, {far.data(), 1, 4}), 0);
    EXPECT_EQ(count_recovered({guess.data(), 1, 4}, {near.data(), 1, 4}), 1);
}

TEST(Recovery, ExceedsItsControlWhenChanceWouldNotDoIt) {
    EXPECT_TRUE((Recovery{40, 35, 200, 0}).exceeds_control());
    EXPECT_FALSE((Recovery{40, 0, 200, 0}).exceeds_control());
    EXPECT_FALSE((Recovery{40, 4, 40, 4}).exceeds_control());
    // One of 320 against none of 200 is what chance does in 320 of 520 cases.
    EXPECT_FALSE((Recovery{320, 1, 200, 0}).exceeds_control());
    // 5 of 10 against 0 of 10: 252 of 15504 ways.
    EXPECT_TRUE((Recovery{10, 5, 10, 0}).exceeds_control());
    // 4 of 10 against 0 of 10: 210 of 4845 ways, 0.043; 3: 120 of 1140, 0.105.
    EXPECT_TRUE((Recovery{10, 4, 10, 0}).exceeds_control());
    EXPECT_FALSE((Recovery{10, 3, 10, 0}).exceeds_control());
    EXPECT_TRUE((Recovery{10, 1, 0, 0}).exceeds_control());
    EXPECT_DOUBLE_EQ((Recovery{40, 10, 200, 5}).share(), 0.25);
    EXPECT_DOUBLE_EQ((Recovery{40, 10, 200, 5}).control_share(), 0.025);
}

TEST(Recovery, IsAboveItsControlWhateverATestCanSay) {
    EXPECT_TRUE((Recovery{320, 6, 80, 0}).above_control());
    EXPECT_TRUE((Recovery{320, 1, 200, 0}).above_control());
    EXPECT_TRUE((Recovery{7, 7, 1, 0}).above_control());
    EXPECT_TRUE((Recovery{4, 4, 0, 0}).above_control());
    EXPECT_FALSE((Recovery{320, 0, 80, 0}).above_control());
    EXPECT_FALSE((Recovery{40, 4, 40, 4}).above_control());
    EXPECT_FALSE((Recovery{40, 4, 40, 5}).above_control());
}

TEST(AttackRecovery, TriesBothGroups) {
    const std::vector<double> guesses{1, 0, 0, 0, 1, 0};
    const std::vector<double> people{1, 0, 0, 0, 0, 1};
    const std::vector<double> controls{0, 2, 0};
    const Recovery recovery = attack_recovery({guesses.data(), 2, 3}, {people.data(), 2, 3}, {controls.data(), 1, 3});
    EXPECT_EQ(recovery.patients, 2);
    EXPECT_EQ(recovery.recovered, 1);
    EXPECT_EQ(recovery.controls, 1);
    EXPECT_EQ(recovery.controls_recovered, 1);
}

}  // namespace
}  // namespace couplet
