#include "couplet/experiments/chart.hpp"

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

const std::string whole_chart = R"svg(
<svg viewBox="0 0 460 310" role="img" aria-label="Error: RSE against rank R1">
<line x1="62.00" y1="254.67" x2="446.00" y2="254.67" class="grid"/>
<text x="55.00" y="258.67" class="tick" text-anchor="end">exact</text>
<line x1="62.00" y1="213.32" x2="446.00" y2="213.32" class="grid"/>
<text x="55.00" y="217.32" class="tick" text-anchor="end">0.02</text>
<line x1="62.00" y1="158.67" x2="446.00" y2="158.67" class="grid"/>
<text x="55.00" y="162.67" class="tick" text-anchor="end">0.05</text>
<line x1="62.00" y1="117.33" x2="446.00" y2="117.33" class="grid"/>
<text x="55.00" y="121.33" class="tick" text-anchor="end">0.1</text>
<line x1="62.00" y1="75.99" x2="446.00" y2="75.99" class="grid"/>
<text x="55.00" y="79.99" class="tick" text-anchor="end">0.2</text>
<line x1="62.00" y1="21.33" x2="446.00" y2="21.33" class="grid"/>
<text x="55.00" y="25.33" class="tick" text-anchor="end">0.5</text>
<line x1="79.45" y1="264.00" x2="79.45" y2="268.00" class="axis"/>
<text x="79.45" y="281.00" class="tick" text-anchor="middle">5</text>
<line x1="195.82" y1="264.00" x2="195.82" y2="268.00" class="axis"/>
<text x="195.82" y="281.00" class="tick" text-anchor="middle">10</text>
<line x1="312.18" y1="264.00" x2="312.18" y2="268.00" class="axis"/>
<text x="312.18" y="281.00" class="tick" text-anchor="middle">15</text>
<line x1="428.55" y1="264.00" x2="428.55" y2="268.00" class="axis"/>
<text x="428.55" y="281.00" class="tick" text-anchor="middle">20</text>
<line x1="62.00" y1="264.00" x2="446.00" y2="264.00" class="axis"/>
<text x="254.00" y="302.00" class="label" text-anchor="middle">rank R1</text>
<text x="14.00" y="138.00" class="label" text-anchor="middle" transform="rotate(-90 14.00 138.00)">RSE</text>
<path d="M-3.24,-3.24H3.24V3.24H-3.24Z" transform="translate(79.45 34.64)" class="mark solid m-printed-star">
<title>printed, star: 0.4 at 5</title>
</path>
<path d="M-3.24,-3.24H3.24V3.24H-3.24Z" transform="translate(79.45 21.33)" class="mark hollow m-printed-star">
<title>the paper, printed, star: 0.5 at 5</title>
</path>
<line x1="195.82" y1="158.67" x2="195.82" y2="93.14" class="error m-ctt-star"/>
<polyline points="79.45,75.99 195.82,117.33 428.55,254.67 " class="series m-ctt-star"/>
<path d="M-3.60,0A3.60,3.60 0 1 0 3.60,0A3.60,3.60 0 1 0 -3.60,0Z" transform="translate(79.45 75.99)" class="mark solid m-ctt-star">
<title>Couplet, star: 0.2 at 5</title>
</path>
<path d="M-3.60,0A3.60,3.60 0 1 0 3.60,0A3.60,3.60 0 1 0 -3.60,0Z" transform="translate(195.82 117.33)" class="mark solid m-ctt-star">
<title>Couplet, star: 0.1 at 10</title>
</path>
<path d="M-3.60,0A3.60,3.60 0 1 0 3.60,0A3.60,3.60 0 1 0 -3.60,0Z" transform="translate(428.55 254.67)" class="mark solid m-ctt-star">
<title>Couplet, star: exact at 20</title>
</path>
</svg>
)svg";

/// Numbers where they belong: 384 x 252 units inside the margins, 5% of air on each side of 5 to 20 and 4% of the
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
