#include "couplet/experiments/gain_section.hpp"

#include <gtest/gtest.h>

namespace couplet {
namespace {

ExperimentResult measured() {
    ExperimentResult result{.name = "heldout"};
    const auto add = [&](const std::string& method, const std::string& category, double error) {
        result.rows.push_back(
            {.figure = gain_figure, .method = method, .category = category, .y = {.mean = error, .count = 1}});
    };
    for (const char* data : {"Diabetes", "Synthetic, order 3"}) {
        const bool exact = std::string(data) != "Diabetes";
        add("local", gain_category(data, 1), exact ? 1e-20 : 0.3);
        add("local", gain_category(data, 2), exact ? 1e-20 : 0.2);
        add("ctt-star", gain_category(data, 1), exact ? 1e-20 : 0.15);
        add("ctt-star", gain_category(data, 2), exact ? 1e-20 : 0.25);
    }
    result.rows.push_back({.figure = "heldout", .method = "local", .category = "Diabetes", .y = {.mean = 9}});
    return result;
}

TEST(GainSectionTest, SitesAreReadFromTheRows) {
    const auto gains = site_gains({ExperimentResult{.name = "other"}, measured()});
    ASSERT_EQ(gains.size(), 4U);
    EXPECT_EQ(gains[1].data, "Diabetes");
    EXPECT_EQ(gains[1].site, 2);
    EXPECT_EQ(gains[1].alone, 0.2);
    EXPECT_EQ(gains[1].together, 0.25);
    EXPECT_EQ(gains[2].data, "Synthetic, order 3");
    EXPECT_TRUE(site_gains({}).empty());
}

TEST(GainSectionTest, SaysWhatJoiningBrings) {
    const auto gains = site_gains({measured()});
    EXPECT_EQ(gain_sentences(gains),
              (std::vector<std::string>{"Diabetes: 0.25 alone, 0.2 with the federation (1 of 2 sites gain).",
                                        "Synthetic, order 3: every site alone describes new people exactly."}));
    const std::string page = render_gain_section(gains);
    EXPECT_NE(page.find("Diabetes</th><td>0.25</td><td>0.2</td><td>−20.0%</td>"), std::string::npos) << page;
    EXPECT_NE(page.find("Diabetes, site 2</th><td>0.2</td><td>0.25</td><td>+25.0%</td>"), std::string::npos);
    EXPECT_NE(page.find("Synthetic, order 3</th><td>exact</td><td>exact</td><td></td>"), std::string::npos);
    EXPECT_LT(page.find("mean of its sites"), page.find("<details><summary>site by site</summary>"));
    EXPECT_EQ(render_gain_section({}), "");
}

}  // namespace
}  // namespace couplet
