#include "couplet/explain/summary.hpp"

#include "explain_test_support.hpp"

namespace couplet {
namespace {

TEST(SummaryTest, SaysWhatWasFoundInHowManyAndHowSure) {
    Explanation told = testing::paired_explanation();
    EXPECT_EQ(told.components[0].title, "asthma with inhaler");
    EXPECT_EQ(found_text(told), "1 phenotype in the records of 100 patients at 2 sites");
    EXPECT_EQ(patients_text(told, told.components[0]), "patients by site (north 30, south fewer than 10)");
    const std::string sure = certainty_text(told, 20);
    EXPECT_NE(sure.find("at least 1.2 times as often"), std::string::npos) << sure;
    EXPECT_NE(sure.find("1 of 2 components that were formed names nothing of its own."), std::string::npos) << sure;
    EXPECT_NE(sure.find("drawn anew 20 times, 1 of 1 come back"), std::string::npos) << sure;
    told.components[0].stability = 0.4;
    EXPECT_EQ(found_text(told), "No stable phenotype in the records of 100 patients at 2 sites");
    told.components[0].carriers.reset();
    EXPECT_EQ(patients_text(told, told.components[0]), "38 patients or more");
}

TEST(SummaryTest, WhereNothingIsKnownOfPairsTheyArePatterns) {
    const Explanation told = explain(testing::mixed_findings());
    EXPECT_EQ(found_text(told), "3 patterns in the records of 65 patients at 2 sites");
    EXPECT_EQ(certainty_text(told, 0), "");
    EXPECT_EQ(patients_text(told, told.components[0]), "");
    EXPECT_EQ(told.phenotypes(), 3);
}

TEST(SummaryTest, WordsOfStability) {
    EXPECT_EQ(stability_text(0.95), "very stable (0.95)");
    EXPECT_EQ(stability_text(0.7), "stable (0.70)");
    EXPECT_EQ(stability_text(0.5), "uncertain (0.50)");
    EXPECT_EQ(stability_text(0.2), "not stable (0.20)");
}

}  // namespace
}  // namespace couplet
