#include "couplet/experiments/chart.hpp"

namespace couplet {
namespace {

const Figure figure{"rse", "Error", Chart::dots, {}, {"RSE", true}};

TEST(DotChartTest, ARowPerMethodBelowEachCategory) {
    const std::vector<Row> rows{
        {.figure = "rse", .method = "printed-star", .category = "A & B", .y = {0.2, 0.01, 3}, .paper = 0.225},
        {.figure = "rse", .method = "ctt-star", .category = "A & B", .y = {1e-20, 0, 3}},
        {.figure = "rse", .method = "ctt-star", .category = "C", .y = {0.02, 0, 3}}};
    const std::string svg = draw_dots(figure, rows);
    EXPECT_NE(svg.find("A &amp; B"), std::string::npos);
    // Ours first, whatever the order of the rows.
    EXPECT_LT(svg.find("Couplet, star"), svg.find("printed, star"));
    EXPECT_NE(svg.find(">exact<"), std::string::npos);
    EXPECT_NE(svg.find("mark hollow m-printed-star"), std::string::npos);
    EXPECT_NE(svg.find("the paper: 0.225"), std::string::npos);
    EXPECT_EQ(svg.find("nan"), std::string::npos);
    EXPECT_EQ(draw_dots(figure, {}), "");
}

}  // namespace
}  // namespace couplet
