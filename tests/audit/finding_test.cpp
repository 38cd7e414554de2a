#include "couplet/audit/finding.hpp"

#include <gtest/gtest.h>

namespace couplet {
namespace {

TEST(Finding, NeverSaysThatNothingSucceededBesideWhatDid) {
    Finding finding;
    finding.ica = {320, 6, 80, 2};
    for (const Verdict verdict : {Verdict::patients, Verdict::membership, Verdict::second_moments,
                                  Verdict::features_only, Verdict::differentially_private}) {
        finding.verdict = verdict;
        finding.guarantee = PrivacyGuarantee{1, 1e-5};
        EXPECT_NE(verdict_sentence(finding).find("6 of 320 recovered, control 2 of 80"), std::string::npos);
        EXPECT_NE(verdict_sentence(finding).find("chance"), std::string::npos) << "that is no more than the controls";
    }
}

TEST(Finding, SaysWhenMembershipIsGuessedBetterThanByChance) {
    Finding finding;
    finding.verdict = Verdict::features_only;
    finding.membership = {0.67, 0.523, 0.807};
    EXPECT_EQ(verdict_sentence(finding).find("no attack here succeeded"), std::string::npos);
    EXPECT_NE(verdict_sentence(finding).find("AUC 0.67, 0.523 to 0.807; from 0.55 on it counts"), std::string::npos)
        << verdict_sentence(finding);
    finding.membership = {0.6, 0.48, 0.7};
    EXPECT_NE(verdict_sentence(finding).find("no attack here succeeded"), std::string::npos);
}

TEST(Finding, NamesTheAttacksThatWereTried) {
    Finding finding;
    EXPECT_TRUE(finding.attacks().empty());
    EXPECT_EQ(finding.recovered(), 0);
    finding.ica = {160, 3, 200, 0};
    finding.lattice = {160, 154, 200, 0};
    finding.direct = {160, 0, 200, 0};
    std::vector<std::string_view> names;
    for (const auto& attack : finding.attacks()) names.push_back(attack.name);
    EXPECT_EQ(names, (std::vector<std::string_view>{"direct", "ica", "lattice"}));
    EXPECT_EQ(finding.best().name, "lattice");
    EXPECT_EQ(finding.recovered(), 154);
    EXPECT_EQ(judge(finding, {}, true), Verdict::patients);
    finding.verdict = Verdict::patients;
    EXPECT_NE(verdict_sentence(finding).find("154 of 160 recovered, control 0 of 200, whole, by a lattice"),
              std::string::npos)
        << verdict_sentence(finding);
}

/// Two of 3,115 against none of 713 is what chance finds two times in three.
TEST(Finding, AVerdictNeedsEvidence) {
    Finding finding;
    finding.ica = {3115, 2, 713, 0};
    finding.membership = {0.5, 0.45, 0.55};
    EXPECT_EQ(judge(finding, {}, true), Verdict::features_only);
    finding.ica = {3115, 40, 713, 0};
    EXPECT_EQ(judge(finding, {}, true), Verdict::patients);
    finding.ica = {40, 30, 3, 0};
    EXPECT_EQ(judge(finding, {}, true), Verdict::patients) << "too few controls to show anything";
    // The attack with evidence comes before one that finds as many controls.
    finding.ica = {320, 60, 200, 40};
    finding.rank_one = {320, 20, 200, 0};
    EXPECT_EQ(finding.best().name, "rank_one");
}

}  // namespace
}  // namespace couplet
