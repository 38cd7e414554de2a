#include "couplet/experiments/chart.hpp"

namespace couplet {
namespace {

TEST(ChartTest, SeriesFollowTheOrderOfTheStyles) {
    const std::vector<Row> rows{{.figure = "f", .method = "printed-star", .x = 1},
                                {.figure = "f", .method = "ctt-star", .variant = "b", .x = 1},
                                {.figure = "f", .method = "ctt-star", .variant = "a", .x = 1},
                                {.figure = "f", .method = "ctt-star", .variant = "b", .x = 2}};
    const auto series = series_of(rows);
    ASSERT_EQ(series.size(), 3U);
    EXPECT_EQ(series[0].variant, "b");
    EXPECT_EQ(series[0].rows.size(), 2U);
    EXPECT_EQ(series[1].variant_number, 1U);
    EXPECT_EQ(series[2].method, "printed-star");
    EXPECT_EQ(series[2].variant_number, 0U);
    EXPECT_EQ(variant_dash(0), "");
    EXPECT_NE(variant_dash(1), variant_dash(2));
}

TEST(ChartTest, RoundingErrorsStayAtTheFloorAndNonsenseIsNotDrawn) {
    const Figure log{.y = {"RSE", true}};
    EXPECT_EQ(drawn(log, {.y = {1e-30, 1e-31, 3}}).y, (Statistic{1e-12, 0, 3}));
    EXPECT_EQ(drawn(log, {.y = {0.5, 0.1, 3}}).y.mean, 0.5);
    EXPECT_EQ(drawn({}, {.y = {1e-30, 0, 1}}).y.mean, 1e-30);
    EXPECT_FALSE(is_drawable(log, {.y = {-1, 0, 1}}));
    EXPECT_FALSE(is_drawable({}, {.y = {NAN, 0, 1}}));
    EXPECT_FALSE(is_drawable({.x = {"x", true}}, {.x = 0, .y = {1, 0, 1}}));
    EXPECT_TRUE(is_drawable({.chart = Chart::dots, .x = {"x", true}}, {.x = 0, .y = {1, 0, 1}}));
}

}  // namespace
}  // namespace couplet
