#include "couplet/experiments/chart.hpp"

namespace couplet {
namespace {

std::size_t count(const std::string& text, const std::string& part) {
    std::size_t n = 0;
    for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++n;
    return n;
}

const Figure figure{"rse", "Error", Chart::lines, {"rank R1"}, {"RSE <log>", true}};

std::vector<Row> rows() {
    return {{.figure = "rse", .method = "ctt-star", .x = 5, .y = {0.2, 0.01, 3}},
            {.figure = "rse", .method = "ctt-star", .x = 10, .y = {0.1, 0.2, 3}},
            {.figure = "rse", .method = "printed-star", .x = 5, .y = {0.3, 0, 1}, .paper = 0.35}};
}

TEST(LineChartTest, DrawsLinesBarsMarksAndThePaper) {
    const std::string svg = draw_lines(figure, rows());
    EXPECT_EQ(count(svg, "<polyline"), 1U);  // a single point has no line
    EXPECT_EQ(count(svg, "class=\"error"), 2U);
    EXPECT_EQ(count(svg, "mark solid m-ctt-star"), 2U);
    EXPECT_EQ(count(svg, "mark hollow m-printed-star"), 1U);
    EXPECT_NE(svg.find("RSE &lt;log&gt;"), std::string::npos);
    EXPECT_NE(svg.find("rank R1"), std::string::npos);
    EXPECT_EQ(svg.find("nan"), std::string::npos);
    EXPECT_EQ(svg.find("inf"), std::string::npos);
}

TEST(LineChartTest, RoundingIsCalledExact) {
    auto all = rows();
    all.push_back({.figure = "rse", .method = "ctt-star", .x = 20, .y = {1e-28, 0, 3}});
    const std::string svg = draw_lines(figure, all);
    EXPECT_NE(svg.find(">exact<"), std::string::npos);
    EXPECT_NE(svg.find("Couplet, star: exact at 20"), std::string::npos);
    EXPECT_EQ(svg.find("e-12"), std::string::npos);
}

TEST(LineChartTest, NothingToDrawIsNothing) {
    EXPECT_EQ(draw_lines(figure, {}), "");
    EXPECT_EQ(draw_lines(figure, {{.figure = "rse", .method = "ctt-star", .x = 1, .y = {NAN, 0, 1}}}), "");
}

}  // namespace
}  // namespace couplet
