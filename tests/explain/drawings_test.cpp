#include "couplet/explain/drawings.hpp"

#include <algorithm>
#include <sstream>

#include "explain_test_support.hpp"

namespace couplet {
namespace {

std::size_t count(const std::string& text, const std::string& part) {
    std::size_t found = 0;
    for (std::size_t at = 0; (at = text.find(part, at)) != std::string::npos; at += part.size()) ++found;
    return found;
}

TEST(DrawingsTest, EachSaysWhatItIs) {
    const Explanation told = explain(testing::mixed_findings());
    const std::string map = draw_heat_map(told, 0);
    EXPECT_EQ(count(map, "class=\"cell"), 12U);
    EXPECT_NE(map.find("<title>asthma, inhaler: +1.00</title>"), std::string::npos);
    EXPECT_NE(map.find("role=\"img\" aria-label=\"asthma with inhaler: condition against drug"), std::string::npos);
    const std::string bars = draw_bars(told, 0, 0);
    EXPECT_EQ(count(bars, "class=\"bar"), 4U);
    EXPECT_NE(bars.find(">asthma</text>"), std::string::npos);
    const std::string sites = draw_sites(told, 0);
    EXPECT_EQ(count(sites, "class=\"bar site\""), 2U);
    EXPECT_NE(sites.find("north"), std::string::npos);
    EXPECT_NE(draw_curve(told, 0, 0).find("<polyline"), std::string::npos);
}

/// The numbers that an attribute has, in the order of the drawing.
std::vector<double> numbers(const std::string& svg, const std::string& element, const std::string& attribute) {
    std::vector<double> found;
    for (std::size_t at = 0; (at = svg.find("<" + element + " ", at)) != std::string::npos; ++at) {
        const std::string tag = svg.substr(at, svg.find('>', at) - at);
        const std::size_t value = tag.find(" " + attribute + "=\"");
        if (value != std::string::npos) found.push_back(std::stod(tag.substr(value + attribute.size() + 3)));
    }
    return found;
}

/// The texts of one class with where they begin, from the left.
std::vector<std::pair<double, std::string>> texts(const std::string& svg, const std::string& name) {
    std::vector<std::pair<double, std::string>> found;
    for (std::size_t at = 0; (at = svg.find("<text x=\"", at)) != std::string::npos; ++at) {
        const std::size_t open = svg.find('>', at);
        if (svg.substr(at, open - at).find("class=\"" + name + "\"") == std::string::npos) continue;
        found.emplace_back(std::stod(svg.substr(at + 9)), svg.substr(open + 1, svg.find('<', open) - open - 1));
    }
    return found;
}

TEST(DrawingsTest, BarsAreInOrderOfSizeAndEachHasItsNumberBesideIt) {
    Explanation told = explain(testing::mixed_findings());
    told.components[0].profiles[0].values = {0.1, -0.9, 0.5, -1};
    const std::string svg = draw_bars(told, 0, 0);
    std::vector<std::string> names;
    for (const auto& label : texts(svg, "label")) names.push_back(label.second);
    EXPECT_EQ(names, (std::vector<std::string>{"gout", "diabetes", "otitis", "asthma"})) << "whatever the sign";
    const auto values = texts(svg, "value");
    const auto x = numbers(svg, "rect", "x");
    const auto width = numbers(svg, "rect", "width");
    ASSERT_EQ(values.size(), 4U);
    ASSERT_EQ(x.size(), 4U);
    const std::vector<std::string> shown{"-1.00", "-0.90", "+0.50", "+0.10"};
    const std::vector<double> lengths{1, 0.9, 0.5, 0.1};
    for (std::size_t i = 0; i < 4; ++i) {
        EXPECT_EQ(values[i].second, shown[i]);
        EXPECT_NEAR(values[i].first, x[i] + width[i] + 6, 0.02) << "right of its bar\n" << svg;
        EXPECT_NEAR(width[i] / width[0], lengths[i], 1e-3);
    }
    EXPECT_NEAR(x[0] + width[0], x[2], 0.02) << "both signs begin at the axis";
    EXPECT_EQ(count(svg, "class=\"bar less\""), 2U);
    EXPECT_EQ(svg.find("opacity"), std::string::npos) << "the length says it, not the colour";
}

TEST(DrawingsTest, ABoxIsAsDeepAsItsWeight) {
    Explanation told = explain(testing::mixed_findings());
    for (Index i = 0; i < 12; ++i) told.findings.rows(0, i) = i == 4 ? -0.8 : i == 5 ? 0.2 : 0;
    told.components[0].profiles[0].values = {0, 1, 0.5, 0};
    told.components[0].profiles[1].values = {0, -0.8, 0.2};
    const std::string svg = draw_heat_map(told, 0);
    EXPECT_LT(svg.find(">diabetes</text>"), svg.find(">otitis</text>"));
    EXPECT_LT(svg.find(">metformin</text>"), svg.find(">amoxicillin</text>"));
    EXPECT_NE(svg.find("class=\"cell less\"><title>diabetes, metformin: -0.80</title>"), std::string::npos) << svg;
    EXPECT_NE(svg.find("class=\"cell more\" fill-opacity=\"0.250\"><title>diabetes, amoxicillin: +0.20</title>"),
              std::string::npos)
        << svg;
    const auto x = numbers(svg, "rect", "x");
    const auto y = numbers(svg, "rect", "y");
    ASSERT_EQ(x.size(), 12U);
    EXPECT_EQ(x[1] - x[0], x[2] - x[1]);
    EXPECT_EQ(x[3], x[0]) << "a row below";
    EXPECT_EQ(y[3] - y[0], x[1] - x[0]) << "boxes are square";
}

TEST(DrawingsTest, NoMoreNamesThanCanBeRead) {
    Findings findings{.source = "made"};
    findings.schema = make_schema(Shape{20}, {}, "made");
    findings.rows = Matrix<double>::zeros(1, 20);
    for (Index i = 0; i < 20; ++i) findings.rows(0, i) = static_cast<double>(i + 1) / 54;
    Explanation told = explain(std::move(findings));
    EXPECT_EQ(count(draw_bars(told, 0, 0), "<rect"), 8U);
}

TEST(DrawingsTest, ACurveGoesThroughItsValuesFromLeftToRight) {
    Explanation told = explain(testing::mixed_findings());
    told.components[0].profiles[0].values = {0, 1, -1, 0.5};
    const std::string svg = draw_curve(told, 0, 0);
    const std::size_t begin = svg.find("points=\"") + 8;
    std::string points = svg.substr(begin, svg.find('"', begin) - begin);
    std::replace(points.begin(), points.end(), ',', ' ');
    std::istringstream stream(points);
    std::vector<double> x;
    std::vector<double> y;
    for (double a = 0, b = 0; stream >> a >> b;) {
        x.push_back(a);
        y.push_back(b);
    }
    ASSERT_EQ(x.size(), 4U) << svg;
    EXPECT_NEAR(x[0], 46, 0.1);
    EXPECT_NEAR(x[3], 450 - 12, 0.1);
    EXPECT_NEAR(x[1] - x[0], x[3] - x[2], 0.1) << "equal steps";
    EXPECT_LT(y[1], y[3]) << "up is more";
    EXPECT_LT(y[3], y[0]);
    EXPECT_LT(y[0], y[2]);
    EXPECT_NEAR((y[0] - y[3]) / (y[0] - y[1]), 0.5, 0.01) << "in proportion";
    for (const double at : y) {
        EXPECT_GE(at, 10);
        EXPECT_LE(at, 190 - 38);
    }
    std::vector<std::string> ends;
    for (const auto& tick : texts(svg, "tick")) ends.push_back(tick.second);
    EXPECT_EQ(std::vector<std::string>(ends.end() - 3, ends.end()),
              (std::vector<std::string>{"asthma", "diabetes", "gout"}))
        << "first, middle and last";
}

TEST(DrawingsTest, SitesAreDrawnInProportion) {
    Explanation told = explain(testing::mixed_findings());
    told.components[0].site_shares = {0.2, 0.05};
    const std::string svg = draw_sites(told, 0);
    const auto x = numbers(svg, "rect", "x");
    const auto width = numbers(svg, "rect", "width");
    ASSERT_EQ(width.size(), 2U);
    EXPECT_NEAR(width[1] / width[0], 0.25, 1e-3);
    EXPECT_EQ(svg.find("opacity"), std::string::npos);
    const auto values = texts(svg, "value");
    EXPECT_EQ(values[0].second, "20.0%");
    EXPECT_EQ(values[1].second, "5.0%");
    EXPECT_NEAR(values[1].first, x[1] + width[1] + 6, 0.02);
}

TEST(DrawingsTest, BarsOfBothSignsStayInTheDrawing) {
    Explanation told = explain(testing::mixed_findings());
    const auto extent = [](const std::string& svg) {
        double low = 1e9;
        double high = -1e9;
        for (std::size_t at = 0; (at = svg.find("<rect x=\"", at)) != std::string::npos; ++at) {
            const double x = std::stod(svg.substr(at + 9));
            const std::size_t width = svg.find("width=\"", at) + 7;
            low = std::min(low, x);
            high = std::max(high, x + std::stod(svg.substr(width)));
        }
        return std::pair{low, high};
    };
    for (const std::vector<double>& values :
         {std::vector<double>{1, 0.5, 0.2, 0.1}, {1, -0.9, 0.2, -0.1}, {-1, -0.5, -0.2, -0.1}, {0, 0, 0, 0}}) {
        told.components[0].profiles[0].values = values;
        const std::string svg = draw_bars(told, 0, 0);
        const auto [low, high] = extent(svg);
        EXPECT_GE(low, 4) << svg;
        EXPECT_LE(high, 400) << svg;
    }
}

TEST(DrawingsTest, LongNamesAreCutByCharacters) {
    EXPECT_EQ(shortened("asthma", 6), "asthma");
    EXPECT_EQ(shortened("asthmatic", 6), "asthm…");
    EXPECT_EQ(shortened("Müdigkeit", 3), "Mü…");
}

}  // namespace
}  // namespace couplet
