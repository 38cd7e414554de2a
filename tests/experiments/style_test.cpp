#include "couplet/experiments/style.hpp"

#include <set>

#include "couplet/baselines/method.hpp"
#include "couplet/core/error.hpp"

namespace couplet {
namespace {

TEST(StyleTest, NoTwoMethodsOfOneFigureLookAlike) {
    std::set<std::string_view> ids;
    std::set<std::pair<std::string_view, Marker>> looks;
    for (const MethodStyle& style : method_styles()) {
        EXPECT_TRUE(ids.insert(style.id).second) << style.id;
        const bool reference = style.id == "majority" || style.id == "predicted";
        if (!reference) {
            EXPECT_TRUE(looks.insert({style.light, style.marker}).second) << style.id;
        }
        EXPECT_EQ(style.light.size(), 7U);
        EXPECT_EQ(style.dark.size(), 7U);
    }
}

TEST(StyleTest, EveryBaselineHasOne) {
    for (const Method method : all_methods()) EXPECT_FALSE(method_style(to_string(method)).label.empty());
    for (const char* reference : {"centralized", "local"}) EXPECT_FALSE(method_style(reference).label.empty());
    EXPECT_THROW(method_style("nonsense"), InputError);
    EXPECT_EQ(series_label("printed-dec", "L = 2"), "Zhang et al., peers, L = 2");
    EXPECT_EQ(series_label("ctt-star", ""), "Couplet, star");
}

}  // namespace
}  // namespace couplet
