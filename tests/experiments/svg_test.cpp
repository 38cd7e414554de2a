#include "couplet/experiments/svg.hpp"

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

}  // namespace
}  // namespace couplet
