#include "couplet/experiments/chart.hpp"

#include <algorithm>

#include "experiment_test_support.hpp"

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
    EXPECT_EQ(count(svg, "<polyline"), 3U);  // a single point has no line; each label has a piece of one
    EXPECT_EQ(count(svg, "class=\"error"), 2U);
    EXPECT_EQ(count(svg, "mark solid m-ctt-star"), 3U);
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

TEST(LineChartTest, LabelsStandBesideTheEndsOfTheirLinesAndApart) {
    std::vector<Row> close;
    for (const char* method : {"ctt-star", "ctt-dec", "centralized", "fedsvd"}) {
        close.push_back({.figure = "rse", .method = method, .x = 1, .y = {0.2, 0, 1}});
        close.push_back({.figure = "rse", .method = method, .x = 2, .y = {0.1, 0, 1}});
    }
    const std::string svg = draw_lines(figure, close);
    std::vector<double> heights;
    for (std::size_t at = svg.find("class=\"tag\""); at != std::string::npos; at = svg.find("class=\"tag\"", at + 1)) {
        heights.push_back(std::stod(svg.substr(svg.rfind("y=\"", at) + 3)));
    }
    ASSERT_EQ(heights.size(), 4U);
    std::sort(heights.begin(), heights.end());
    for (std::size_t i = 1; i < heights.size(); ++i) EXPECT_GE(heights[i] - heights[i - 1], 14.9);
}

TEST(LineChartTest, NothingToDrawIsNothing) {
    EXPECT_EQ(draw_lines(figure, {}), "");
    EXPECT_EQ(draw_lines(figure, {{.figure = "rse", .method = "ctt-star", .x = 1, .y = {NAN, 0, 1}}}), "");
}

const std::string whole_chart = R"svg(
<svg viewBox="0 0 500 310" role="img" aria-label="Error: RSE against rank R1">
<line x1="62.00" y1="254.67" x2="348.80" y2="254.67" class="grid"/>
<text x="55.00" y="258.67" class="tick" text-anchor="end">exact</text>
<line x1="62.00" y1="213.32" x2="348.80" y2="213.32" class="grid"/>
<text x="55.00" y="217.32" class="tick" text-anchor="end">0.02</text>
<line x1="62.00" y1="158.67" x2="348.80" y2="158.67" class="grid"/>
<text x="55.00" y="162.67" class="tick" text-anchor="end">0.05</text>
<line x1="62.00" y1="117.33" x2="348.80" y2="117.33" class="grid"/>
<text x="55.00" y="121.33" class="tick" text-anchor="end">0.1</text>
<line x1="62.00" y1="75.99" x2="348.80" y2="75.99" class="grid"/>
<text x="55.00" y="79.99" class="tick" text-anchor="end">0.2</text>
<line x1="62.00" y1="21.33" x2="348.80" y2="21.33" class="grid"/>
<text x="55.00" y="25.33" class="tick" text-anchor="end">0.5</text>
<line x1="75.04" y1="264.00" x2="75.04" y2="268.00" class="axis"/>
<text x="75.04" y="281.00" class="tick" text-anchor="middle">5</text>
<line x1="161.95" y1="264.00" x2="161.95" y2="268.00" class="axis"/>
<text x="161.95" y="281.00" class="tick" text-anchor="middle">10</text>
<line x1="248.85" y1="264.00" x2="248.85" y2="268.00" class="axis"/>
<text x="248.85" y="281.00" class="tick" text-anchor="middle">15</text>
<line x1="335.76" y1="264.00" x2="335.76" y2="268.00" class="axis"/>
<text x="335.76" y="281.00" class="tick" text-anchor="middle">20</text>
<line x1="62.00" y1="264.00" x2="348.80" y2="264.00" class="axis"/>
<text x="205.40" y="302.00" class="label" text-anchor="middle">rank R1</text>
<text x="11.00" y="138.00" class="label" text-anchor="middle" transform="rotate(-90 11.00 138.00)">RSE</text>
<path d="M-3.24,-3.24H3.24V3.24H-3.24Z" transform="translate(75.04 34.64)" class="mark solid m-printed-star">
<title>Zhang et al., star: 0.4 at 5</title>
</path>
<path d="M-3.24,-3.24H3.24V3.24H-3.24Z" transform="translate(75.04 21.33)" class="mark hollow m-printed-star">
<title>the paper, Zhang et al., star: 0.5 at 5</title>
</path>
<line x1="161.95" y1="158.67" x2="161.95" y2="93.14" class="error m-ctt-star"/>
<polyline points="75.04,75.99 161.95,117.33 335.76,254.67 " class="series m-ctt-star"/>
<path d="M-3.60,0A3.60,3.60 0 1 0 3.60,0A3.60,3.60 0 1 0 -3.60,0Z" transform="translate(75.04 75.99)" class="mark solid m-ctt-star">
<title>Couplet, star: 0.2 at 5</title>
</path>
<path d="M-3.60,0A3.60,3.60 0 1 0 3.60,0A3.60,3.60 0 1 0 -3.60,0Z" transform="translate(161.95 117.33)" class="mark solid m-ctt-star">
<title>Couplet, star: 0.1 at 10</title>
</path>
<path d="M-3.60,0A3.60,3.60 0 1 0 3.60,0A3.60,3.60 0 1 0 -3.60,0Z" transform="translate(335.76 254.67)" class="mark solid m-ctt-star">
<title>Couplet, star: exact at 20</title>
</path>
<polyline points="353.80,254.67 375.80,254.67 " class="series m-ctt-star"/>
<path d="M-3.60,0A3.60,3.60 0 1 0 3.60,0A3.60,3.60 0 1 0 -3.60,0Z" transform="translate(364.80 254.67)" class="mark solid m-ctt-star">
</path>
<text x="379.80" y="258.67" class="tag" text-anchor="start">Couplet, star</text>
<polyline points="353.80,34.64 375.80,34.64 " class="series m-printed-star"/>
<path d="M-3.24,-3.24H3.24V3.24H-3.24Z" transform="translate(364.80 34.64)" class="mark solid m-printed-star">
</path>
<text x="379.80" y="38.64" class="tag" text-anchor="start">Zhang et al., star</text>
</svg>
)svg";

/// Numbers where they belong: 286.8 x 252 units beside the labels, 5% of air on each side of 5 to 20 and 4% of the
/// decades from 0.01, where exact errors lie, to 0.5.
TEST(LineChartTest, EverythingIsInItsPlace) {
    const Figure plain{"rse", "Error", Chart::lines, {"rank R1"}, {"RSE", true}};
    const std::vector<Row> all{{.figure = "rse", .method = "ctt-star", .x = 5, .y = {0.2, 0, 3}},
                               {.figure = "rse", .method = "ctt-star", .x = 10, .y = {0.1, 0.05, 3}},
                               {.figure = "rse", .method = "printed-star", .x = 5, .y = {0.4, 0, 1}, .paper = 0.5},
                               {.figure = "rse", .method = "ctt-star", .x = 20, .y = {1e-20, 0, 3}}};
    EXPECT_EQ(testing::by_element(draw_lines(plain, all)), whole_chart);
}

}  // namespace
}  // namespace couplet
