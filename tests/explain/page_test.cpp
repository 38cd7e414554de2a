#include "couplet/explain/page.hpp"

#include "explain_test_support.hpp"

namespace couplet {
namespace {

TEST(PageTest, IsSelfContainedAndEscaped) {
    Findings findings = testing::mixed_findings();
    findings.schema.modes[0].entries[0] = "<b>asthma</b>";
    findings.gains = {{"north", 0.5, 0.4}, {"south", 0.5, 0.6}};
    const std::string page = render_explanation(explain(std::move(findings)), {}, "page");
    for (const char* outside : {"<script", "http", "url(", "@import", "<b>asthma"}) {
        EXPECT_EQ(page.find(outside), std::string::npos) << outside;
    }
    EXPECT_NE(page.find("&lt;b&gt;asthma&lt;/b&gt; with inhaler"), std::string::npos);
    EXPECT_NE(page.find("1 of 2 sites are described better"), std::string::npos);
    EXPECT_NE(page.find("page.csv"), std::string::npos);
    EXPECT_LT(page.find("1 of 2 sites are described better"), page.find("The patterns</h2>")) << "on the first screen";
}

TEST(PageTest, WhatIsNotKnownIsNoPercentageAndControlCharactersAreNoText) {
    Findings findings = testing::mixed_findings();
    findings.schema.modes[0].entries[0] = "asthma\x1b[31m";
    findings.sites.clear();
    const std::string page = render_explanation(explain(std::move(findings)), {}, "");
    EXPECT_NE(page.find("Its share is not known"), std::string::npos);
    EXPECT_EQ(page.find("0.0%"), std::string::npos);
    EXPECT_EQ(page.find("Together they describe"), std::string::npos);
    EXPECT_EQ(page.find('\x1b'), std::string::npos);
}

TEST(PageTest, SaysWhatLeftTheSitesWhereThatIsKnownAndNothingElsewhere) {
    Findings findings = testing::mixed_findings();
    findings.left_sites = "To find these patterns all records were brought to one place.";
    EXPECT_NE(render_explanation(explain(std::move(findings)), {}, "").find("<p>To find these patterns all records"),
              std::string::npos);
    const std::string silent = render_explanation(explain(testing::mixed_findings()), {}, "");
    for (const char* claim : {"left the sites", "no record", "To find these patterns"}) {
        EXPECT_EQ(silent.find(claim), std::string::npos) << claim;
    }
}

TEST(PageTest, TheFirstScreenSaysWhatInHowManyAndHowSure) {
    const Explanation told = testing::paired_explanation();
    const std::string page = render_explanation(told, {.resamples = 7}, "");
    const std::string first = page.substr(0, page.find("<div class=\"components\">"));
    EXPECT_NE(first.find("<h1>1 phenotype in the records of 100 patients at 2 sites</h1>"), std::string::npos) << first;
    EXPECT_NE(first.find("north 30, south fewer than 10"), std::string::npos) << first;
    EXPECT_NE(first.find("2.6 times"), std::string::npos) << first;
    EXPECT_NE(first.find("drawn anew 7 times, 1 of 1 come back"), std::string::npos) << first;
    EXPECT_NE(first.find("Nothing that comes together"), std::string::npos);
}

TEST(PageTest, TellsOfAPatientAndOfChanges) {
    Explanation told = explain(testing::mixed_findings());
    const Explanation before = explain(testing::mixed_findings());
    std::vector<std::string> ids;
    for (int i = 0; i < 40; ++i) ids.push_back("p" + std::to_string(i));
    Told more{.before = &before};
    more.patient = tell_patient(told, 0, ids, "p3");
    more.drift = compare_results(before, told);
    const std::string page = render_explanation(told, more, "");
    EXPECT_NE(page.find("<h2>Patient p3</h2>"), std::string::npos);
    EXPECT_NE(page.find("it stays at the site"), std::string::npos);
    EXPECT_NE(page.find("What changed"), std::string::npos);
    EXPECT_EQ(page.find(".json"), std::string::npos);
}

}  // namespace
}  // namespace couplet
