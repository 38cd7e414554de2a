#include "mean_counts.hpp"

#include <gtest/gtest.h>

namespace couplet::testing {
namespace {

TEST(MeanCounts, AreWholeWhereTheyAre) {
    EXPECT_EQ(cli::number(175).dump(), "175");
    EXPECT_EQ(cli::number(9787.5).dump(), "9787.5");
    EXPECT_EQ(cli::number(0).dump(), "0");
    EXPECT_TRUE(cli::number(1e17).is_number_float());
}

TEST(MeanCounts, AreRoundedForPeople) {
    EXPECT_EQ(cli::numbers_text(9787.5), "9,788");
    EXPECT_EQ(cli::size_text(1535.6), "1.5 KiB");
    EXPECT_EQ(cli::size_text(12.4), "12 bytes");
}

}  // namespace
}  // namespace couplet::testing
