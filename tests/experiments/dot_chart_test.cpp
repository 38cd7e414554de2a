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

TEST(DotChartTest, CategoriesShareAnAxisUnlessTheyDoNotCompare) {
    const std::vector<Row> rows{{.figure = "rse", .method = "ctt-star", .category = "small", .y = {1e-6, 0, 3}},
                                {.figure = "rse", .method = "printed-star", .category = "small", .y = {1e-5, 0, 3}},
                                {.figure = "rse", .method = "ctt-star", .category = "large", .y = {0.1, 0, 3}},
                                {.figure = "rse", .method = "printed-star", .category = "large", .y = {1, 0, 3}}};
    const auto ends = [&](const Figure& drawn) {
        const std::string svg = draw_dots(drawn, rows);
        std::vector<std::string> found;
        for (std::size_t at = svg.find("stem m-printed-star"); at != std::string::npos;
             at = svg.find("stem m-printed-star", at + 1)) {
            const std::size_t x = svg.find("x2=", svg.rfind("<line", at));
            found.push_back(svg.substr(x, svg.find(' ', x) - x));
        }
        return found;
    };
    const auto shared = ends(figure);
    ASSERT_EQ(shared.size(), 2U);
    EXPECT_NE(shared[0], shared[1]);
    Figure own = figure;
    own.own_axes = true;
    // Ten times as much is as far in both.
    ASSERT_EQ(ends(own).size(), 2U);
    EXPECT_EQ(ends(own)[0], ends(own)[1]);
    EXPECT_NE(draw_dots(own, rows).find(">1e-6<"), std::string::npos);
}

}  // namespace
}  // namespace couplet
