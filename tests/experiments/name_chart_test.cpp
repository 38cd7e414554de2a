#include "couplet/experiments/chart.hpp"

namespace couplet {
namespace {

const Figure figure{"mode2", "Habits", Chart::dots, {"habit"}, {"part of the variance"}};

Row dot(const char* method, const char* category, double value) {
    return {.figure = "mode2", .method = method, .category = category, .y = {value, 0, 3}};
}

std::size_t count(const std::string& text, const std::string& part) {
    std::size_t n = 0;
    for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++n;
    return n;
}

TEST(NameChartTest, ARowForEachNameWithAllMarksOnIt) {
    const std::string svg = draw_names(figure, {dot("ctt-star", "smokes", 0.2), dot("ctt-star", "walks & runs", 0.1),
                                                dot("centralized", "smokes", 0.21)});
    EXPECT_EQ(count(svg, ">smokes<"), 1U);
    EXPECT_EQ(count(svg, "walks &amp; runs<"), 1U);
    EXPECT_EQ(count(svg, "mark solid m-ctt-star"), 3U);     // two values and the legend
    EXPECT_EQ(count(svg, "mark solid m-centralized"), 2U);  // one value and the legend
    EXPECT_NE(svg.find("Couplet, star, smokes: 0.2"), std::string::npos);
    EXPECT_NE(svg.find("part of the variance of each habit"), std::string::npos);
    // Both marks of a name lie at one height.
    const auto height = [&](const char* hint) {
        const std::size_t at = svg.rfind("translate(", svg.find(hint));
        const std::size_t space = svg.find(' ', at);
        return svg.substr(space, svg.find(')', at) - space);
    };
    EXPECT_EQ(height("Couplet, star, smokes"), height("centralized TT-SVD, smokes"));
    EXPECT_NE(height("Couplet, star, smokes"), height("Couplet, star, walks"));
}

TEST(NameChartTest, RoundingIsCalledExactAndNothingIsNothing) {
    Figure log = figure;
    log.y.log = true;
    const std::string svg = draw_names(log, {dot("ctt-star", "a", 1e-20), dot("printed-star", "a", 0.3)});
    EXPECT_NE(svg.find(">exact<"), std::string::npos);
    EXPECT_NE(svg.find("a: exact"), std::string::npos);
    EXPECT_EQ(draw_names(figure, {}), "");
}

TEST(NameChartTest, TheFigureSaysHowItIsDrawn) {
    const std::vector<Row> rows{dot("ctt-star", "smokes", 0.2)};
    EXPECT_EQ(draw(figure, rows), draw_names(figure, rows));
    Figure plain = figure;
    plain.x = {};
    EXPECT_EQ(draw(plain, rows), draw_dots(plain, rows));
    plain.chart = Chart::lines;
    EXPECT_EQ(draw(plain, rows), draw_lines(plain, rows));
}

}  // namespace
}  // namespace couplet
