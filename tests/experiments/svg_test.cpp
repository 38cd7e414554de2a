#include "couplet/experiments/svg.hpp"

#include "experiment_test_support.hpp"

namespace couplet {
namespace {

TEST(SvgTest, TextIsEscapedEverywhere) {
    Svg svg(10, 20, "a \"title\" <b>");
    svg.text(1, 2, "<script>", "tick");
    svg.marker(1, 2, Marker::circle, "m-ctt-star", false, "x < y");
    const std::string text = std::move(svg).finish();
    EXPECT_EQ(text.find("<script>"), std::string::npos);
    EXPECT_NE(text.find("aria-label=\"a &quot;title&quot; &lt;b&gt;\""), std::string::npos);
    EXPECT_NE(text.find("<title>x &lt; y</title>"), std::string::npos);
    EXPECT_EQ(text.find("<svg"), 0U);
    EXPECT_TRUE(text.ends_with("</svg>"));
}

TEST(SvgTest, HollowMarksAndDashes) {
    Svg svg(10, 20, "t");
    svg.marker(1, 2, Marker::square, "m-x", true);
    svg.polyline("0,0 1,1", "series", "2 3");
    const std::string text = std::move(svg).finish();
    EXPECT_NE(text.find("mark hollow m-x"), std::string::npos);
    EXPECT_NE(text.find("stroke-dasharray=\"2 3\""), std::string::npos);
    EXPECT_NE(legend_swatch("ctt-star", "").find("m-ctt-star"), std::string::npos);
}

const std::string all_marks = R"svg(
<svg viewBox="0 0 10 20" role="img" aria-label="t">
<path d="M-3.60,0A3.60,3.60 0 1 0 3.60,0A3.60,3.60 0 1 0 -3.60,0Z" transform="translate(1.00 2.00)" class="mark solid c">
</path>
<path d="M-3.24,-3.24H3.24V3.24H-3.24Z" transform="translate(1.00 2.00)" class="mark solid c">
</path>
<path d="M0,-4.50L4.50,0L0,4.50L-4.50,0Z" transform="translate(1.00 2.00)" class="mark solid c">
</path>
<path d="M0,-4.14L3.96,3.06H-3.96Z" transform="translate(1.00 2.00)" class="mark solid c">
</path>
<path d="M0,4.14L3.96,-3.06H-3.96Z" transform="translate(1.00 2.00)" class="mark solid c">
</path>
<path d="M-3.24,-3.24L3.24,3.24M-3.24,3.24L3.24,-3.24" transform="translate(1.00 2.00)" class="mark open c">
</path>
<path d="M-3.96,0H3.96M0,-3.96V3.96" transform="translate(1.00 2.00)" class="mark open c">
</path>
<path d="M-4.32,-1.26H4.32V1.26H-4.32Z" transform="translate(1.00 2.00)" class="mark solid c">
</path>
</svg>
)svg";

const std::string swatch = R"svg(
<svg viewBox="0 0 30 12" role="img" aria-label="Couplet, star">
<polyline points="1.00,6.00 29.00,6.00 " class="series m-ctt-star" stroke-dasharray="2 3"/>
<path d="M-3.60,0A3.60,3.60 0 1 0 3.60,0A3.60,3.60 0 1 0 -3.60,0Z" transform="translate(15.00 6.00)" class="mark solid m-ctt-star">
</path>
</svg>
)svg";

TEST(SvgTest, MarksHaveTheirShapes) {
    Svg svg(10, 20, "t");
    for (const Marker marker : {Marker::circle, Marker::square, Marker::diamond, Marker::triangle,
                                Marker::triangle_down, Marker::cross, Marker::plus, Marker::bar}) {
        svg.marker(1, 2, marker, "c", false);
    }
    EXPECT_EQ(testing::by_element(std::move(svg).finish()), all_marks);
    EXPECT_EQ(testing::by_element(legend_swatch("ctt-star", "2 3")), swatch);
}

TEST(SvgTest, BoxesHaveHintsAndDepth) {
    Svg svg(10, 20, "t");
    svg.rect(1, 2, 3, 4, "cell", 0.25, "a & b");
    svg.rect(1, 2, 3, 4, "cell");
    const std::string text = std::move(svg).finish();
    EXPECT_NE(text.find("fill-opacity=\"0.250\"><title>a &amp; b</title></rect>"), std::string::npos);
    EXPECT_NE(text.find("height=\"4.00\" class=\"cell\"/>"), std::string::npos);
}

}  // namespace
}  // namespace couplet
