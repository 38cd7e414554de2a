#include "couplet/explain/drawings.hpp"

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
        EXPECT_GE(low, 215) << svg;
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
