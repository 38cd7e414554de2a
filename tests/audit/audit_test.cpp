#include "couplet/audit/audit.hpp"

#include <gtest/gtest.h>

#include "audit_test_support.hpp"
#include "couplet/core/error.hpp"
#include "datasets.hpp"

namespace couplet {
namespace {

using testing::choose;
using testing::ranked_job;
using testing::sparse_patients;

const Finding& find(const AuditReport& report, const std::string& mode, const std::string& seen_by) {
    for (const auto& finding : report.findings) {
        if (finding.mode == mode && finding.seen_by == seen_by) return finding;
    }
    throw std::runtime_error("no " + mode + " seen by " + seen_by);
}

TEST(Audit, TriesEveryModeAndView) {
    const auto people = choose(sparse_patients(120, 5, 6, 2), 3, 30, 1);
    AuditOptions options{.job = ranked_job(4)};
    options.job.passes = 1;
    options.guarantee = PrivacyGuarantee{1, 1e-5};
    std::vector<std::int64_t> heard;
    options.progress = [&](const ProgressEvent& event) { heard.push_back(event.done); };
    const auto report = audit(people.views(), people.controls.view(), options);
    std::vector<std::string> views;
    for (const auto& finding : report.findings) views.push_back(finding.mode + "/" + finding.seen_by);
    EXPECT_EQ(views, (std::vector<std::string>{
                         "stack/coordinator", "stack/neighbour", "average/coordinator", "subspace/coordinator",
                         "stack/every client", "secure, policy off/coordinator",
                         "secure, policy off/coordinator with a client", "secure, policy off/every client",
                         "secure/coordinator", "secure/coordinator with a client", "secure/every client",
                         "private/whoever sees the noised sums", "private/every client"}));
    EXPECT_EQ(heard.size(), views.size() + 2);
    EXPECT_EQ(heard.back(), 13);
    EXPECT_TRUE(report.skipped.empty());
    EXPECT_EQ(report.clients, 3);
    EXPECT_EQ(report.patients, 30);
    EXPECT_EQ(report.patients_total, 90);
    EXPECT_EQ(report.controls, 30);
    EXPECT_GT(report.leverage, 0);
    EXPECT_LE(report.leverage, 1);
    EXPECT_EQ(find(report, "secure, policy off", "coordinator with a client").ica.patients, 60);
    // 60 honest patients: 6 directions.
    EXPECT_EQ(find(report, "secure", "coordinator").directions, 6);
    EXPECT_EQ(find(report, "secure", "coordinator").policy.front(), "oversampling 10 -> 2");
    EXPECT_EQ(find(report, "private", "every client").verdict, Verdict::differentially_private);
    EXPECT_NE(verdict_sentence(find(report, "private", "every client")).find("epsilon 1.00"), std::string::npos);
}

TEST(Audit, OfOneClientSaysWhatItCouldNotTry) {
    const auto people = choose(sparse_patients(40, 12, 15, 2), 1, 3, 1);
    const auto report = audit(people.views(), people.controls.view(), {.job = ranked_job(4)});
    EXPECT_EQ(report.findings.size(), 3U);
    EXPECT_EQ(report.skipped.size(), 2U);
    EXPECT_EQ(report.worst("stack"), Verdict::patients);
    EXPECT_EQ(report.worst(), Verdict::patients);
    EXPECT_EQ(report.worst("none such"), Verdict::differentially_private);
    EXPECT_NEAR(report.leverage, 1, 1e-9);
}

TEST(Audit, SaysThatThePolicyRefuses) {
    const auto people = choose(sparse_patients(40, 5, 6, 2), 2, 5, 1);
    const auto report = audit(people.views(), people.controls.view(), {.job = ranked_job(4)});
    ASSERT_EQ(report.skipped.size(), 1U);
    EXPECT_NE(report.skipped[0].find("secure: refused, leakage policy: 5 honest patients"), std::string::npos)
        << report.skipped[0];
}

TEST(Audit, RefusesWhatDoesNotFit) {
    const auto people = choose(sparse_patients(40, 5, 6, 2), 2, 5, 1);
    AuditOptions options{.job = ranked_job(4)};
    EXPECT_THROW(audit({}, people.controls.view(), options), InputError);
    options.client = 2;
    EXPECT_THROW(audit(people.views(), people.controls.view(), options), InputError);
    options.client = 0;
    const auto other = sparse_patients(3, 6, 5, 1);
    EXPECT_THROW(audit(people.views(), other.view(), options), InputError);
    Clients mixed = people.views();
    mixed.push_back(other.view());
    EXPECT_THROW(audit(mixed, people.controls.view(), options), InputError);
    options.job.rank.reset();
    EXPECT_THROW(audit(people.views(), people.controls.view(), options), InputError);
}

// The figures of the health records, against the attacks' controls.

TEST(AuditFigures, PlainMessagesOfHealthRecords) {
    const auto all = support::load_real("cms");
    if (!all) GTEST_SKIP() << "COUPLET_DATA is not set";
    const auto people = choose(*all, 1, 40, 1);
    const auto report = audit(people.views(), people.controls.view(), {.job = ranked_job(40)});
    const Finding& message = find(report, "stack", "coordinator");
    EXPECT_GE(message.ica.share(), 0.7);
    EXPECT_LE(message.ica.control_share(), 0.04);
    EXPECT_EQ(message.verdict, Verdict::patients);
    EXPECT_GT(message.membership.low, 0.9);
    EXPECT_EQ(message.moment.disclosed, message.moment.small_cells);
}

TEST(AuditFigures, PlainMessagesOfOuterProducts) {
    const auto all = support::load_real("diabetes");
    if (!all) GTEST_SKIP() << "COUPLET_DATA is not set";
    const auto people = choose(*all, 1, 40, 1);
    const auto report = audit(people.views(), people.controls.view(), {.job = ranked_job(40)});
    const Finding& message = find(report, "stack", "coordinator");
    EXPECT_GE(message.rank_one.share(), 0.9);
    EXPECT_LT(message.ica.share(), 0.15);
    EXPECT_LE(message.rank_one.control_share(), 0.04);
}

TEST(AuditFigures, SumsOfHealthRecords) {
    const auto all = support::load_real("cms");
    if (!all) GTEST_SKIP() << "COUPLET_DATA is not set";
    const auto people = choose(*all, 8, 40, 0);
    Job job = ranked_job(30);
    job.aggregate = Aggregate::subspace;
    job.passes = 2;
    const auto open = attack({"secure",
                              "coordinator",
                              "",
                              SumTranscript(people.views(), job).shown({0, 1, 2, 3, 4, 5, 6, 7}),
                              {0, 1, 2, 3, 4, 5, 6, 7}},
                             people.views(), people.controls.view(), {}, 0);
    EXPECT_EQ(open.directions, 80);
    EXPECT_GE(open.ica.recovered, 10);
    EXPECT_EQ(open.verdict, Verdict::patients);
    EXPECT_NE(verdict_sentence(open).find("reveals individual patients"), std::string::npos);
}

TEST(AuditFigures, ThePolicyKeepsPatientsOutOfTheSums) {
    const auto all = support::load_real("cms");
    if (!all) GTEST_SKIP() << "COUPLET_DATA is not set";
    Index recovered = 0;
    for (std::uint64_t seed = 0; seed < 10; ++seed) {
        const auto people = choose(*all, 8, 40, 100 + seed);
        AuditOptions options{.job = ranked_job(30, seed), .only = "secure"};
        options.job.passes = 2;
        for (const auto& finding : audit(people.views(), people.controls.view(), options).findings) {
            recovered += finding.recovered();
        }
    }
    EXPECT_LE(recovered, 1);
}

}  // namespace
}  // namespace couplet
