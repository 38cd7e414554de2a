#include "couplet/explain/export.hpp"

#include <limits>

#include "explain_test_support.hpp"

namespace couplet {
namespace {

TEST(ExportTest, JsonHasEverything) {
    Explanation told = explain(testing::mixed_findings());
    told.components[0].stability = 0.9;
    told.components[0].least_stability = 0.8;
    told.findings.gains = {{"north", 0.5, 0.4}};
    Told more{.resamples = 3};
    more.patient = PatientStory{.id = "p1", .site = "north", .components = {{1, 2, 0.5}}, .unusual = {0}};
    more.drift = Drift{.overlap = 0.5, .changes = {{.before = -1, .after = 0}}};
    const auto json = explanation_json(told, more);
    EXPECT_EQ(json["components"].size(), 3U);
    EXPECT_EQ(json["components"][0]["title"], "asthma with inhaler");
    EXPECT_EQ(json["components"][0]["stability"], 0.9);
    EXPECT_FALSE(json["components"][1].contains("stability"));
    EXPECT_EQ(json["components"][0]["sites"][1]["name"], "south");
    EXPECT_EQ(json["share_of"], "data");
    EXPECT_EQ(json["gain"][0]["alone"], 0.5);
    EXPECT_EQ(json["patient"]["unusual"][0], 1);
    EXPECT_TRUE(json["drift"]["changes"][0]["before"].is_null());
    EXPECT_EQ(json["drift"]["changes"][0]["after"], 1);
}

TEST(ExportTest, CsvHasALineForEveryEntry) {
    Explanation told = explain(testing::mixed_findings(), {.entries = 1});
    told.components[0].entries[0].labels[0] = "a,\"b\"";
    const std::string text = explanation_csv(told);
    EXPECT_TRUE(text.starts_with("component,share,stability,condition,drug,weight\n1,"));
    EXPECT_NE(text.find(",,\"a,\"\"b\"\"\",inhaler,"), std::string::npos);
    EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 4);
    told.components[0].entries[0].labels[0] = "=1+1";
    EXPECT_NE(explanation_csv(told).find(",'=1+1,inhaler,"), std::string::npos);
}

TEST(ExportTest, PercentsHaveFewDigits) {
    EXPECT_EQ(percent_text(0.314), "31%");
    EXPECT_EQ(percent_text(0.0421), "4.2%");
    EXPECT_EQ(percent_text(0.00081), "0.081%");
    EXPECT_EQ(percent_text(0), "0.0%");
    EXPECT_EQ(percent_text(1), "100%");
    EXPECT_EQ(percent_text(std::numeric_limits<double>::quiet_NaN()), "not known");
}

}  // namespace
}  // namespace couplet
