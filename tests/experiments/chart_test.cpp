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

TEST(ChartTest, RoundingErrorsLieADecadeBelowTheOthers) {
    const Figure log{.y = {"RSE", true}};
    const auto drawn =
        drawn_rows(log, {{.y = {1e-30, 1e-31, 3}}, {.y = {0.5, 0.1, 3}, .paper = 0.2}, {.y = {0, 0, 3}}});
    ASSERT_EQ(drawn.rows.size(), 3U);
    EXPECT_EQ(drawn.exact, 0.02);
    EXPECT_EQ(drawn.rows[0].y, (Statistic{0.02, 0, 3}));
    EXPECT_TRUE(drawn.is_exact(drawn.rows[0]));
    EXPECT_FALSE(drawn.is_exact(drawn.rows[1]));
    EXPECT_TRUE(drawn.is_exact(drawn.rows[2]));
    EXPECT_EQ(drawn_rows(log, {{.y = {1e-30, 0, 1}}}).exact, 1e-12);
    EXPECT_EQ(drawn_rows({}, {{.y = {1e-30, 0, 1}}}).rows[0].y.mean, 1e-30);
    EXPECT_FALSE(drawn_rows(log, {{.y = {0.5, 0, 1}}}).exact);
}

TEST(ChartTest, NonsenseIsNotDrawn) {
    const Figure log{.y = {"RSE", true}};
    EXPECT_TRUE(drawn_rows(log, {{.y = {-1, 0, 1}}}).rows.empty());
    EXPECT_TRUE(drawn_rows({}, {{.y = {NAN, 0, 1}}}).rows.empty());
    EXPECT_TRUE(drawn_rows({.x = {"x", true}}, {{.x = 0, .y = {1, 0, 1}}}).rows.empty());
    EXPECT_EQ(drawn_rows({.chart = Chart::dots, .x = {"x", true}}, {{.x = 0, .y = {1, 0, 1}}}).rows.size(), 1U);
}

TEST(ChartTest, SmallPlacesFitALogarithm) {
    EXPECT_EQ(drawn_rows({.x = {"x", true}}, {{.x = 0.5, .y = {1, 0, 1}}}).rows.size(), 1U);
    EXPECT_EQ(drawn_rows({.x = {"x", true}}, {{.x = 1, .y = {1, 0, 1}}}).rows.size(), 1U);
    EXPECT_TRUE(drawn_rows({.x = {"x", true}}, {{.x = -1, .y = {1, 0, 1}}}).rows.empty());
    EXPECT_EQ(drawn_rows({}, {{.x = -1, .y = {1, 0, 1}}}).rows.size(), 1U);
}

TEST(ChartTest, DashesRepeatAfterSix) {
    for (std::size_t i = 0; i < 6; ++i) {
        EXPECT_EQ(variant_dash(i), variant_dash(i + 6));
        for (std::size_t j = 0; j < i; ++j) EXPECT_NE(variant_dash(i), variant_dash(j));
    }
}

TEST(ChartTest, AnErrorOfExactlyRoundingIsNone) {
    const Figure log{.y = {"RSE", true}};
    EXPECT_FALSE(drawn_rows(log, {{.y = {1e-12, 0, 1}}}).exact);
    EXPECT_EQ(drawn_rows(log, {{.y = {0.5, 0, 1}, .paper = 0.0}, {.y = {1e-20, 0, 1}}}).exact, 0.05);
    EXPECT_TRUE(drawn_rows({}, {{.x = NAN, .y = {1, 0, 1}}}).rows.empty());
}

}  // namespace
}  // namespace couplet
