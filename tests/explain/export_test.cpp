#include "couplet/explain/export.hpp"

#include <limits>

#include "explain_test_support.hpp"

namespace couplet {
namespace {

TEST(ExportTest, JsonHasEverything) {
    Explanation told = explain(testing::mixed_findings(), {.entries = 2});
    told.components[0].stability = 0.9;
    told.components[0].least_stability = 0.8;
    told.findings.gains = {{"north", 0.5, 0.4}};
    told.findings.rse = 0.2;
    Told more{.resamples = 3};
    more.patient = PatientStory{.id = "p1",
                                .site = "north",
                                .components = {{1, 2, 0.5}},
                                .unusual = {0},
                                .made_of = {NamedEntry{{}, {"gout", "inhaler"}, -2}},
                                .nearest = {{"p2", 0.25}}};
    more.drift = Drift{.overlap = 0.5,
                       .changes = {{.before = -1, .after = 0, .share_after = 0.3},
                                   {.before = 1,
                                    .after = -1,
                                    .agreement = 0.7,
                                    .share_before = 0.1,
                                    .gained = {NamedEntry{{}, {"gout", "inhaler"}, 1}},
                                    .lost = {NamedEntry{{}, {"asthma", "inhaler"}, -1}}}}};
    const auto json = explanation_json(told, more);
    EXPECT_EQ(json["result"], "made");
    EXPECT_EQ(json["rotation"], "varimax");
    EXPECT_EQ(json["share_of"], "data");
    EXPECT_EQ(json["rse"], 0.2);
    EXPECT_EQ(json["resamples"], 3);
    EXPECT_NEAR(json["explained"], 0.8, 1e-9);
    EXPECT_EQ(json["sites"][1]["name"], "south");
    EXPECT_EQ(json["sites"][1]["patients"], 25);
    EXPECT_NEAR(json["sites"][1]["explained"], 0.8, 1e-9);
    ASSERT_EQ(json["components"].size(), 3U);
    const auto& first = json["components"][0];
    EXPECT_EQ(first["number"], 1);
    EXPECT_EQ(first["title"], "asthma with inhaler");
    EXPECT_EQ(first["share"], told.components[0].share);
    EXPECT_EQ(first["stability"], 0.9);
    EXPECT_EQ(first["least_stability"], 0.8);
    EXPECT_FALSE(json["components"][1].contains("stability"));
    EXPECT_FALSE(json["components"][1].contains("least_stability"));
    EXPECT_EQ(first["sites"][1]["name"], "south");
    EXPECT_EQ(first["sites"][1]["share"], told.components[0].site_shares[1]);
    EXPECT_EQ(first["entries"].size(), 2U);
    EXPECT_EQ(first["entries"][0]["labels"], nlohmann::ordered_json({"asthma", "inhaler"}));
    EXPECT_EQ(first["entries"][0]["weight"], told.components[0].entries[0].weight);
    EXPECT_NEAR(first["product_share"], 1, 1e-6);
    EXPECT_EQ(first["profiles"][1]["mode"], "drug");
    EXPECT_EQ(first["profiles"][1]["curve"], false);
    EXPECT_EQ(first["profiles"][1]["values"].size(), 3U);
    EXPECT_EQ(json["gain"].dump(), R"([{"client":"north","alone":0.5,"together":0.4}])");
    EXPECT_EQ(json["patient"].dump(),
              R"({"id":"p1","site":"north","components":[{"number":1,"score":1.0,"deviation":2.0,"above":0.5}],)"
              R"("unusual":[1],"made_of":[{"labels":["gout","inhaler"],"weight":-2.0}],)"
              R"("nearest":[{"id":"p2","distance":0.25}]})");
    EXPECT_EQ(
        json["drift"].dump(),
        R"({"overlap":0.5,"changes":[{"before":null,"after":1,"agreement":0.0,"share_before":0.0,"share_after":0.3,)"
        R"("gained":[],"lost":[]},{"before":2,"after":null,"agreement":0.7,"share_before":0.1,"share_after":0.0,)"
        R"("gained":[{"labels":["gout","inhaler"],"weight":1.0}],"lost":[{"labels":["asthma","inhaler"],"weight":-1.0}]}]})");
}

TEST(ExportTest, JsonLeavesOutWhatWasNotAsked) {
    Findings findings = testing::mixed_findings();
    findings.shares_of_data = false;
    const auto json = explanation_json(explain(std::move(findings), {.rotation = Rotation::none}), {});
    EXPECT_EQ(json["rotation"], "none");
    EXPECT_EQ(json["share_of"], "explained");
    for (const char* name : {"rse", "gain", "resamples", "patient", "drift"}) EXPECT_FALSE(json.contains(name)) << name;
}

TEST(ExportTest, CsvHasALineForEveryEntry) {
    Explanation told = explain(testing::mixed_findings(), {.entries = 1});
    told.components[0].entries[0].labels[0] = "a,\"b\"";
    const std::string text = explanation_csv(told);
    EXPECT_TRUE(text.starts_with("component,share,stability,condition,drug,weight,lift,patients\n1,"));
    EXPECT_NE(text.find(",,\"a,\"\"b\"\"\",inhaler,"), std::string::npos);
    EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 4);
    told.components[0].entries[0].labels[0] = "=1+1";
    EXPECT_NE(explanation_csv(told).find(",'=1+1,inhaler,"), std::string::npos);
    Component& first = told.components[0];
    first.entries = {NamedEntry{{}, {"gout", "inhaler"}, -0.25, 2.5, 40}};
    first.share = 0.5;
    first.stability = 0.75;
    EXPECT_NE(explanation_csv(told).find("\n1,0.5,0.75,gout,inhaler,-0.25,2.5,40\n2,"), std::string::npos);
    first.share = std::numeric_limits<double>::quiet_NaN();
    EXPECT_NE(explanation_csv(told).find("\n1,,0.75,gout,inhaler,-0.25,2.5,40\n2,"), std::string::npos);
}

TEST(ExportTest, PercentsHaveFewDigits) {
    EXPECT_EQ(percent_text(0.314), "31%");
    EXPECT_EQ(percent_text(0.0421), "4.2%");
    EXPECT_EQ(percent_text(0.00081), "0.081%");
    EXPECT_EQ(percent_text(0), "0.0%");
    EXPECT_EQ(percent_text(1), "100%");
    EXPECT_EQ(percent_text(0.0094), "0.94%");
    EXPECT_EQ(percent_text(0.0096), "1.0%");
    EXPECT_EQ(percent_text(0.0994), "9.9%");
    EXPECT_EQ(percent_text(0.0996), "10%");
    EXPECT_EQ(percent_text(-0.0421), "-4.2%");
    EXPECT_EQ(percent_text(std::numeric_limits<double>::quiet_NaN()), "not known");
}

}  // namespace
}  // namespace couplet
