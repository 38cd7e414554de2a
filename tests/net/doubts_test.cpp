#include "couplet/net/doubts.hpp"

#include <gtest/gtest.h>

namespace couplet::net {
namespace {

std::string names(const std::vector<Doubt>& doubts) {
    std::string text;
    for (const Doubt& doubt : doubts) text += doubt.client;
    return text;
}

TEST(DoubtsTest, ANormFarAboveTheOthersIsNamed) {
    EXPECT_EQ(names(norm_doubts({{"a", 4}, {"b", 9}, {"c", 1}})), "");
    EXPECT_EQ(names(norm_doubts({{"a", 4}, {"b", 4e6}, {"c", 1}})), "") << "a thousand times, and no more";
    const auto doubts = norm_doubts({{"a", 4}, {"b", 1e12}, {"c", 1}});
    ASSERT_EQ(names(doubts), "b");
    EXPECT_EQ(doubts[0].reason, "a norm of 1e+06, where the others have about 2");
    EXPECT_EQ(names(norm_doubts({{"a", 1e-9}, {"b", 1}})), "b") << "of two, the larger one";
    EXPECT_EQ(names(norm_doubts({{"a", 0}, {"b", 1e20}, {"c", 0}})), "") << "nothing is no norm to compare with";
    EXPECT_EQ(names(norm_doubts({{"a", 1e20}})), "");
    EXPECT_EQ(names(norm_doubts({{"a", 1e20}, {"b", 1e20}, {"c", 1}, {"d", 1}, {"e", 1}})), "ab");
}

TEST(DoubtsTest, ErrorsAboveTheBoundNameWhoHasThem) {
    // The bound allows 0.01 of 300.
    EXPECT_EQ(names(error_doubts({{"a", 100, 1, 100}, {"b", 100, 1, 100}, {"c", 100, 1, 100}}, 0.1)), "");
    const auto doubts = error_doubts({{"a", 100, 0.1, 100}, {"b", 100, 90, 100}, {"c", 100, 4, 100}}, 0.1);
    ASSERT_EQ(names(doubts), "bc") << "each is above the bound of all";
    EXPECT_EQ(doubts[0].reason, "an error of 0.548 of all norms together, where the bound is 0.1");
    EXPECT_EQ(names(error_doubts({{"a", 100, 1.2, 100}, {"b", 100, 1.1, 100}, {"c", 100, 1, 100}}, 0.1)), "a")
        << "nobody alone: the largest";
    EXPECT_EQ(names(error_doubts({{"a", 100, 99, 100}, {"b", 100, {}, {}}}, 0.1)), "a")
        << "a silent client hides nothing";
    EXPECT_EQ(names(error_doubts({{"a", 100, 1.9, 100}, {"b", 100, {}, {}}}, 0.1)), "")
        << "its norm counts, as in the bound";
    EXPECT_EQ(names(error_doubts({{"a", 100, {}, {}}, {"b", 100, {}, {}}}, 0.1)), "") << "nobody has reported";
}

TEST(DoubtsTest, ANormThatWasAnotherBeforeIsNamed) {
    EXPECT_EQ(names(report_doubts({{"a", 100, 0, 100}, {"b", 100, 0, 101}})), "b");
    EXPECT_EQ(names(report_doubts({{"a", 100, {}, {}}, {"b", 100, 0, 99}})), "b");
    EXPECT_EQ(names(report_doubts({{"a", 100, {}, {}}, {"b", 100, 0, 100 * (1 + 1e-9)}})), "") << "rounding";
}

TEST(DoubtsTest, RoundingIsNoLie) {
    EXPECT_FALSE(contradicts(1.0000001, 0.1, 100));
    EXPECT_TRUE(contradicts(1.00001, 0.1, 100));
    EXPECT_FALSE(contradicts(1e-13, 0, 100)) << "an exact job, measured";
    EXPECT_TRUE(contradicts(1e-9, 0, 100));
}

}  // namespace
}  // namespace couplet::net
