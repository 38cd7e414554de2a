#include "integer_model.hpp"

#include <gtest/gtest.h>

namespace couplet {
namespace {

TEST(IntegerModel, BucketsGrowWithTheValue) {
    EXPECT_EQ(bucket(0), 0U);
    EXPECT_EQ(bucket(3), 3U);
    EXPECT_EQ(bucket(4), 4U);
    EXPECT_EQ(bucket(7), 7U);
    EXPECT_EQ(bucket(8), 8U);
    EXPECT_EQ(bucket(9), 8U);
    for (std::uint32_t value = 1; value < 5000; ++value) {
        ASSERT_GE(bucket(value), bucket(value - 1));
        ASSERT_LE(bucket(value), bucket(value - 1) + 1);
    }
    EXPECT_LT(bucket(0xffffffff), 128U);
}

TEST(IntegerModel, AveragesApproachWhatTheySee) {
    std::uint32_t value = 0;
    for (int i = 0; i < 400; ++i) value = averaged(value, 6400, 32);
    EXPECT_NEAR(value, 6400, 32);
    for (int i = 0; i < 400; ++i) value = averaged(value, 0, 32);
    EXPECT_EQ(value, 0U);
    EXPECT_EQ(averaged(17, 1000, 1), 1000U);
}

TEST(IntegerModel, LooksAtTheNumbersBesideAndAbove) {
    const std::vector<std::int32_t> q = {1, -2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
    const MatrixView<const std::int32_t> block(q.data(), 2, 6);
    Neighbourhoods neighbourhoods(6, 3);
    for (Index j = 0; j < 6; ++j) neighbourhoods.add(block(0, j), 0, j);
    for (Index j = 0; j < 4; ++j) neighbourhoods.add(block(1, j), 1, j);
    const Neighbourhood near = neighbourhoods.at(block, 1, 4);
    EXPECT_EQ(near.left, (std::array<std::int32_t, 2>{10, 9}));
    EXPECT_EQ(near.above, (std::array<std::int32_t, 2>{5, 0}));
    EXPECT_EQ(near.plane, (std::array<std::int32_t, 3>{9, 8, 7}));
    EXPECT_EQ(near.column, 5 * Neighbourhood::unit);
    EXPECT_TRUE(near.has_plane);
    EXPECT_FALSE(Neighbourhoods(6, 6).at(block, 0, 0).has_plane);
}

}  // namespace
}  // namespace couplet
