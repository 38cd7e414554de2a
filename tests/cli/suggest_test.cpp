#include "suggest.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace couplet::testing {
namespace {

TEST(Suggest, EditDistance) {
    using cli::edit_distance;
    EXPECT_EQ(edit_distance("", ""), 0U);
    EXPECT_EQ(edit_distance("", "abc"), 3U);
    EXPECT_EQ(edit_distance("ranks", "ranks"), 0U);
    EXPECT_EQ(edit_distance("rnaks", "ranks"), 1U) << "a swap is one edit";
    EXPECT_EQ(edit_distance("kitten", "sitting"), 3U);
    EXPECT_EQ(edit_distance("sitting", "kitten"), 3U);
}

TEST(Suggest, NearestIsNearOrNothing) {
    const std::vector<std::string> names{"decompose", "ranks", "round", "reconstruct", "add", "dot"};
    EXPECT_EQ(cli::nearest("decompse", names), "decompose");
    EXPECT_EQ(cli::nearest("rec", names), "reconstruct") << "the only one that starts like this";
    EXPECT_EQ(cli::nearest("ad", names), "add");
    EXPECT_EQ(cli::nearest("simulate", names), std::nullopt);
    const std::vector<std::string> options{"-h", "-o", "--help", "--eps", "--max-rank", "--json"};
    EXPECT_EQ(cli::nearest("-e", options), "--eps") << "not -h, one letter away";
    EXPECT_EQ(cli::nearest("-x", options), std::nullopt);
    EXPECT_EQ(cli::nearest("--rank", options), "--max-rank");
    EXPECT_EQ(cli::nearest("--jsn", options), "--json");
    EXPECT_EQ(cli::nearest("", names), std::nullopt);
    EXPECT_EQ(cli::nearest("x", {}), std::nullopt);
}

}  // namespace
}  // namespace couplet::testing
