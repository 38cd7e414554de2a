#include "couplet/audit/audit_summary.hpp"

#include <gtest/gtest.h>

namespace couplet {
namespace {

Finding finding_of(const std::string& mode, Verdict verdict, Recovery lattice, Auc membership) {
    Finding finding{.mode = mode};
    finding.verdict = verdict;
    finding.lattice = lattice;
    finding.membership = membership;
    return finding;
}

AuditReport report_of(std::vector<Finding> findings) {
    AuditReport report;
    report.findings = std::move(findings);
    return report;
}

TEST(AuditSummary, RanksTheModesByWhatTheyShow) {
    const auto report =
        report_of({finding_of("stack", Verdict::patients, {40, 36, 200, 0}, {0.7, 0.6, 0.8}),
                   finding_of("stack", Verdict::features_only, {160, 0, 200, 0}, {0.9, 0.85, 0.95}),
                   finding_of("subspace", Verdict::patients, {40, 40, 200, 0}, {1, 0.9, 1}),
                   finding_of("secure", Verdict::membership, {160, 0, 200, 0}, {0.7, 0.6, 0.8}),
                   finding_of("private", Verdict::differentially_private, {160, 0, 200, 0}, {0.5, 0.4, 0.6})});
    const auto modes = rank_modes(report);
    ASSERT_EQ(modes.size(), 4U);
    EXPECT_EQ(modes[0].mode, "private");
    EXPECT_EQ(modes[1].mode, "secure");
    EXPECT_EQ(modes[2].mode, "stack");
    EXPECT_EQ(modes[3].mode, "subspace");
    EXPECT_EQ(modes[2].recovered.recovered, 36);
    EXPECT_EQ(modes[2].membership.low, 0.85);
    EXPECT_EQ(summary_of(report),
              "Records of patients can be rebuilt by whoever receives plain messages (stack) (36 of 40) and plain sums "
              "(subspace) (40 of 40). From sums with noise (private) and masked sums (secure) no record could be "
              "rebuilt by the attacks tried; who took part can be told.");
}

TEST(AuditSummary, SaysHowWellMembershipIsGuessed) {
    const auto said = [](Verdict verdict, Auc membership) {
        return summary_of(report_of({finding_of("secure", verdict, {160, 0, 200, 0}, membership)}));
    };
    EXPECT_EQ(
        said(Verdict::features_only, {0.6, 0.52, 0.7}),
        "From masked sums (secure) no record could be rebuilt by the attacks tried; who took part can be guessed a "
        "little better than by chance.");
    EXPECT_NE(said(Verdict::features_only, {0.5, 0.4, 0.6}).find("could not be guessed better than by chance"),
              std::string::npos);
    EXPECT_NE(said(Verdict::untested, {}).find("without controls"), std::string::npos);
    EXPECT_EQ(summary_of({}), "");
    EXPECT_EQ(mode_in_words("another"), "another");
}

}  // namespace
}  // namespace couplet
