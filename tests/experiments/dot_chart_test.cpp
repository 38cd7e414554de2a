#include "couplet/experiments/chart.hpp"

#include "experiment_test_support.hpp"

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
    EXPECT_LT(svg.find("Couplet, star"), svg.find("Zhang et al., star"));
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
        for (std::size_t at = svg.find("mark solid m-printed-star"); at != std::string::npos;
             at = svg.find("mark solid m-printed-star", at + 1)) {
            const std::size_t x = svg.rfind("translate(", at);
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

TEST(DotChartTest, StemsMeasureFromZero) {
    const std::vector<Row> rows{{.figure = "rse", .method = "ctt-star", .category = "A", .y = {0.5, 0, 3}}};
    EXPECT_EQ(draw_dots(figure, rows).find("stem"), std::string::npos) << "a logarithmic axis has no zero";
    Figure linear = figure;
    linear.y.log = false;
    EXPECT_NE(draw_dots(linear, rows).find("class=\"stem m-ctt-star\""), std::string::npos);
}

const std::vector<Row> two_categories{
    {.figure = "rse", .method = "ctt-star", .category = "A", .y = {0.02, 0.01, 3}},
    {.figure = "rse", .method = "printed-star", .category = "A", .y = {0.2, 0, 3}, .paper = 0.4},
    {.figure = "rse", .method = "ctt-star", .category = "B", .y = {0.1, 0, 3}}};

const std::string shared_axis = R"svg(
<svg viewBox="0 0 460 160" role="img" aria-label="Error: RSE">
<line x1="184.37" y1="26.00" x2="184.37" y2="68.00" class="grid"/>
<line x1="248.38" y1="26.00" x2="248.38" y2="68.00" class="grid"/>
<line x1="296.79" y1="26.00" x2="296.79" y2="68.00" class="grid"/>
<line x1="345.21" y1="26.00" x2="345.21" y2="68.00" class="grid"/>
<text x="4.00" y="22.00" class="heading" text-anchor="start">A</text>
<text x="168.00" y="43.00" class="tick" text-anchor="end">Couplet, star</text>
<line x1="176.00" y1="39.00" x2="402.00" y2="39.00" class="grid"/>
<line x1="176.00" y1="39.00" x2="212.69" y2="39.00" class="error m-ctt-star"/>
<path d="M-3.60,0A3.60,3.60 0 1 0 3.60,0A3.60,3.60 0 1 0 -3.60,0Z" transform="translate(184.37 39.00)" class="mark solid m-ctt-star">
</path>
<text x="456.00" y="43.00" class="value" text-anchor="end">0.02</text>
<text x="168.00" y="61.00" class="tick" text-anchor="end">Zhang et al., star</text>
<line x1="176.00" y1="57.00" x2="402.00" y2="57.00" class="grid"/>
<path d="M-3.24,-3.24H3.24V3.24H-3.24Z" transform="translate(345.21 57.00)" class="mark solid m-printed-star">
</path>
<path d="M-3.24,-3.24H3.24V3.24H-3.24Z" transform="translate(393.63 57.00)" class="mark hollow m-printed-star">
<title>the paper: 0.4</title>
</path>
<text x="456.00" y="61.00" class="value" text-anchor="end">0.2</text>
<line x1="184.37" y1="86.00" x2="184.37" y2="110.00" class="grid"/>
<text x="184.37" y="122.00" class="tick" text-anchor="middle">0.02</text>
<line x1="248.38" y1="86.00" x2="248.38" y2="110.00" class="grid"/>
<text x="248.38" y="122.00" class="tick" text-anchor="middle">0.05</text>
<line x1="296.79" y1="86.00" x2="296.79" y2="110.00" class="grid"/>
<text x="296.79" y="122.00" class="tick" text-anchor="middle">0.1</text>
<line x1="345.21" y1="86.00" x2="345.21" y2="110.00" class="grid"/>
<text x="345.21" y="122.00" class="tick" text-anchor="middle">0.2</text>
<text x="4.00" y="82.00" class="heading" text-anchor="start">B</text>
<text x="168.00" y="103.00" class="tick" text-anchor="end">Couplet, star</text>
<line x1="176.00" y1="99.00" x2="402.00" y2="99.00" class="grid"/>
<path d="M-3.60,0A3.60,3.60 0 1 0 3.60,0A3.60,3.60 0 1 0 -3.60,0Z" transform="translate(296.79 99.00)" class="mark solid m-ctt-star">
</path>
<text x="456.00" y="103.00" class="value" text-anchor="end">0.1</text>
<text x="289.00" y="152.00" class="label" text-anchor="middle">RSE</text>
</svg>
)svg";

const std::string own_axes = R"svg(
<svg viewBox="0 0 460 186" role="img" aria-label="Error: RSE">
<line x1="184.37" y1="26.00" x2="184.37" y2="68.00" class="grid"/>
<text x="184.37" y="80.00" class="tick" text-anchor="middle">0.02</text>
<line x1="248.38" y1="26.00" x2="248.38" y2="68.00" class="grid"/>
<text x="248.38" y="80.00" class="tick" text-anchor="middle">0.05</text>
<line x1="296.79" y1="26.00" x2="296.79" y2="68.00" class="grid"/>
<text x="296.79" y="80.00" class="tick" text-anchor="middle">0.1</text>
<line x1="345.21" y1="26.00" x2="345.21" y2="68.00" class="grid"/>
<text x="345.21" y="80.00" class="tick" text-anchor="middle">0.2</text>
<text x="4.00" y="22.00" class="heading" text-anchor="start">A</text>
<text x="168.00" y="43.00" class="tick" text-anchor="end">Couplet, star</text>
<line x1="176.00" y1="39.00" x2="402.00" y2="39.00" class="grid"/>
<line x1="176.00" y1="39.00" x2="212.69" y2="39.00" class="error m-ctt-star"/>
<path d="M-3.60,0A3.60,3.60 0 1 0 3.60,0A3.60,3.60 0 1 0 -3.60,0Z" transform="translate(184.37 39.00)" class="mark solid m-ctt-star">
</path>
<text x="456.00" y="43.00" class="value" text-anchor="end">0.02</text>
<text x="168.00" y="61.00" class="tick" text-anchor="end">Zhang et al., star</text>
<line x1="176.00" y1="57.00" x2="402.00" y2="57.00" class="grid"/>
<path d="M-3.24,-3.24H3.24V3.24H-3.24Z" transform="translate(345.21 57.00)" class="mark solid m-printed-star">
</path>
<path d="M-3.24,-3.24H3.24V3.24H-3.24Z" transform="translate(393.63 57.00)" class="mark hollow m-printed-star">
<title>the paper: 0.4</title>
</path>
<text x="456.00" y="61.00" class="value" text-anchor="end">0.2</text>
<line x1="176.00" y1="112.00" x2="176.00" y2="136.00" class="grid"/>
<text x="176.00" y="148.00" class="tick" text-anchor="middle">0.05</text>
<line x1="289.00" y1="112.00" x2="289.00" y2="136.00" class="grid"/>
<text x="289.00" y="148.00" class="tick" text-anchor="middle">0.1</text>
<line x1="402.00" y1="112.00" x2="402.00" y2="136.00" class="grid"/>
<text x="402.00" y="148.00" class="tick" text-anchor="middle">0.2</text>
<text x="4.00" y="108.00" class="heading" text-anchor="start">B</text>
<text x="168.00" y="129.00" class="tick" text-anchor="end">Couplet, star</text>
<line x1="176.00" y1="125.00" x2="402.00" y2="125.00" class="grid"/>
<path d="M-3.60,0A3.60,3.60 0 1 0 3.60,0A3.60,3.60 0 1 0 -3.60,0Z" transform="translate(289.00 125.00)" class="mark solid m-ctt-star">
</path>
<text x="456.00" y="129.00" class="value" text-anchor="end">0.1</text>
<text x="289.00" y="178.00" class="label" text-anchor="middle">RSE</text>
</svg>
)svg";

TEST(DotChartTest, EverythingIsInItsPlace) {
    EXPECT_EQ(testing::by_element(draw_dots(figure, two_categories)), shared_axis);
    Figure apart = figure;
    apart.own_axes = true;
    EXPECT_EQ(testing::by_element(draw_dots(apart, two_categories)), own_axes);
}

}  // namespace
}  // namespace couplet
