#include "couplet/audit/audit.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "audit_test_support.hpp"
#include "couplet/core/error.hpp"
#include "datasets.hpp"
#include "record_rules.hpp"

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
    options.clip = 3;
    std::vector<std::int64_t> heard;
    options.progress = [&](const ProgressEvent& event) { heard.push_back(event.done); };
    const auto report = audit(people.views(), people.controls.view(), options);
    std::vector<std::string> views;
    for (const auto& finding : report.findings) views.push_back(finding.mode + "/" + finding.seen_by);
    EXPECT_EQ(views, (std::vector<std::string>{
                         "stack/coordinator", "stack/neighbour", "average/coordinator", "subspace/coordinator",
                         "stack/every client", "secure, policy off/coordinator",
                         "secure, policy off/coordinator with a client", "secure, policy off/every client",
                         "secure, policy off/coordinator and clients", "secure/coordinator",
                         "secure/coordinator with a client", "secure/every client", "secure/coordinator and clients",
                         "private/whoever sees the noised sums", "private/every client"}));
    // One more with every view; the last step only when everything is done.
    EXPECT_EQ(heard, (std::vector<std::int64_t>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 14, 15}));
    EXPECT_TRUE(report.skipped.empty());
    EXPECT_EQ(report.clients, 3);
    EXPECT_EQ(report.patients, 30);
    EXPECT_EQ(report.patients_total, 90);
    EXPECT_EQ(report.controls, 30);
    EXPECT_GT(report.leverage, 0);
    EXPECT_LE(report.leverage, 1);
    EXPECT_EQ(find(report, "secure, policy off", "coordinator with a client").ica.patients, 60);
    // Two of three clients of at least 30 are honest: 6 directions.
    EXPECT_EQ(find(report, "secure", "coordinator").directions, 6);
    EXPECT_EQ(find(report, "secure", "coordinator").policy[0], "sketch gram -> random");
    EXPECT_EQ(find(report, "secure", "coordinator").policy[1], "oversampling 10 -> 2");
    EXPECT_EQ(find(report, "private", "every client").verdict, Verdict::differentially_private);
    EXPECT_NE(verdict_sentence(find(report, "private", "every client")).find("epsilon 1 and delta 1e-05"),
              std::string::npos);
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
    const auto people = choose(sparse_patients(40, 5, 6, 2), 3, 3, 1);
    const auto report = audit(people.views(), people.controls.view(), {.job = ranked_job(3)});
    ASSERT_EQ(report.skipped.size(), 1U);
    EXPECT_NE(report.skipped[0].find("secure: refused, leakage policy: 6 honest patients"), std::string::npos)
        << report.skipped[0];
    // Nor would two clients be let in.
    const auto two = choose(sparse_patients(40, 5, 6, 2), 2, 15, 1);
    const auto refused = audit(two.views(), two.controls.view(), {.job = ranked_job(4)}).skipped;
    ASSERT_EQ(refused.size(), 2U);
    EXPECT_EQ(refused[0].rfind("secure, policy off: refused, `secure`: 2 clients", 0), 0U) << refused[0];
}

/// What simulate --secure would run: with few features and many patients that is the Gram matrix.
TEST(Audit, AttacksTheSumsThatTheJobWouldAskFor) {
    const auto people = choose(sparse_patients(700, 5, 5, 2), 4, 150, 1);
    AuditOptions options{.job = ranked_job(5), .only = "secure"};
    options.job.aggregate = Aggregate::subspace;
    const auto report = audit(people.views(), people.controls.view(), options);
    const Finding& sums = find(report, "secure", "coordinator");
    EXPECT_EQ(sums.directions, 25);
    ASSERT_EQ(sums.policy.size(), 1U);
    EXPECT_EQ(sums.policy[0].rfind("records clipped at norm ", 0), 0U);
}

TEST(Audit, CallsPatientsWhatItHasRebuilt) {
    // Four patients and one control, with which no test of significance can say anything.
    const auto people = choose(sparse_patients(5, 12, 15, 2), 1, 4, 1);
    const auto report = audit(people.views(), people.controls.view(), {.job = ranked_job(4)});
    const Finding& message = find(report, "stack", "coordinator");
    EXPECT_EQ(message.recovered(), 4);
    EXPECT_FALSE(message.ica.exceeds_control() && message.rank_one.exceeds_control());
    EXPECT_EQ(message.verdict, Verdict::patients);
    EXPECT_NE(verdict_sentence(message).find(
                  "4 of 4 recovered, control 0 of 1, by independent components; more controls would tell"),
              std::string::npos)
        << verdict_sentence(message);
}

Tensor<double> dense_patients(Index patients, Index features, std::uint64_t seed) {
    Random random(seed, 11);
    Tensor<double> x({patients, features});
    for (Index i = 0; i < x.size(); ++i) x.data()[i] = random.normal();
    return x;
}

/// Records that are longer than the others' are the first singular vectors themselves: no search would find anything
/// else in dense records.
TEST(Audit, LooksAtTheRowsThemselves) {
    auto people = choose(dense_patients(300, 400, 5), 1, 100, 1);
    const double longer[] = {5, 4.2, 3.5, 2.9, 2.4};
    for (Index i = 0; i < 5; ++i) {
        for (Index j = 0; j < 400; ++j) people.clients[0].view().unfold(1)(i, j) *= longer[i];
    }
    const auto report = audit(people.views(), people.controls.view(), {.job = ranked_job(5), .only = "stack"});
    const Finding& message = find(report, "stack", "coordinator");
    EXPECT_FALSE(message.ica.above_control());
    EXPECT_GE(message.direct.recovered, 4);
    EXPECT_EQ(message.direct.controls_recovered, 0);
    EXPECT_EQ(message.verdict, Verdict::patients) << verdict_sentence(message);
    EXPECT_NE(verdict_sentence(message).find(" recovered, control 0 of 200"), std::string::npos)
        << verdict_sentence(message);
}

/// What everybody has in common resembles many, those who took part as well as others: that shows no patient.
TEST(Audit, WhatAllHaveInCommonIsNoPatient) {
    auto all = dense_patients(500, 400, 5);
    Random random(6);
    std::vector<double> common(400);
    for (double& value : common) value = 2.05 * random.normal();
    for (Index i = 0; i < all.size(); ++i) all.data()[i] += common[static_cast<std::size_t>(i % 400)];
    const auto people = choose(all, 1, 300, 1);
    const auto report = audit(people.views(), people.controls.view(), {.job = ranked_job(3), .only = "stack"});
    const Finding& message = find(report, "stack", "coordinator");
    EXPECT_GT(message.direct.recovered, 30) << "they look like one another";
    EXPECT_GT(message.direct.controls_recovered, 20);
    EXPECT_NE(message.verdict, Verdict::patients) << verdict_sentence(message);
}

TEST(Audit, EmptyRecordsAndCopiesAreNoPatients) {
    auto people = choose(sparse_patients(120, 12, 15, 2), 3, 30, 1);
    for (auto& x : people.clients) {
        const auto rows = x.view().unfold(1);
        for (Index i = 3; i < 20; ++i) std::fill_n(rows.row(i), rows.cols, 0.0);
        for (Index i = 20; i < 30; ++i) std::copy_n(rows.row(0), rows.cols, rows.row(i));
    }
    const auto report = audit(people.views(), people.controls.view(), {.job = ranked_job(9)});
    EXPECT_EQ(report.patients, 3);
    EXPECT_EQ(report.patients_total, 9);
    EXPECT_EQ(report.left_out, 81);
    EXPECT_EQ(find(report, "stack", "coordinator").ica.patients, 3);
    EXPECT_EQ(find(report, "stack", "coordinator").recovered(), 3);
    ASSERT_EQ(report.skipped.size(), 1U);
    EXPECT_NE(report.skipped[0].find("honest patients"), std::string::npos) << report.skipped[0];
}

TEST(Audit, WithoutControlsIsUntested) {
    const auto people = choose(sparse_patients(90, 5, 6, 2), 3, 30, 1);
    AuditOptions options{.job = ranked_job(2), .only = "secure"};
    options.job.passes = 1;
    const auto report = audit(people.views(), people.controls.view(), options);
    EXPECT_EQ(report.controls, 0);
    const Finding& published = find(report, "secure", "every client");
    EXPECT_EQ(published.recovered(), 0);
    EXPECT_EQ(published.verdict, Verdict::untested) << verdict_sentence(published);
    EXPECT_EQ(verdict_sentence(published).find("no attack here succeeded"), std::string::npos);
}

TEST(Audit, PatientsWhoTookPartAreNoControls) {
    const auto people = choose(sparse_patients(60, 5, 6, 2), 2, 20, 1);
    EXPECT_EQ(usable_controls(people.views(), people.clients[1].view()).shape()[0], 0);
    auto single = Tensor<double>::copy(people.clients[1].view());
    for (double& value : std::span(single.data(), static_cast<std::size_t>(single.size()))) {
        value = static_cast<double>(static_cast<float>(value));
    }
    EXPECT_EQ(usable_controls(people.views(), single.view()).shape()[0], 0);  // the same people, converted
    Tensor<double> mixed({25, 5, 6});
    std::copy_n(people.controls.data(), 20 * 30, mixed.data());
    std::copy_n(people.clients[0].data(), 3 * 30, mixed.data() + 20 * 30);
    std::copy_n(people.controls.data(), 30, mixed.data() + 23 * 30);
    std::fill_n(mixed.data() + 24 * 30, 30, 0.0);
    EXPECT_EQ(usable_controls(people.views(), mixed.view()).shape()[0], 20);
    const auto report = audit(people.views(), mixed.view(), {.job = ranked_job(4), .only = "stack"});
    EXPECT_EQ(report.controls, 20);
    EXPECT_EQ(report.controls_left_out, 5);
}

TEST(Audit, AGuaranteeThatPromisesNothingIsNone) {
    const auto people = choose(sparse_patients(700, 5, 5, 2), 3, 200, 1);
    const auto verdict = [&](PrivacyGuarantee guarantee) {
        AuditOptions options{.job = ranked_job(4), .guarantee = guarantee, .clip = 3, .only = "private"};
        const auto report = audit(people.views(), people.controls.view(), options);
        return find(report, "private", "every client");
    };
    EXPECT_EQ(verdict({0.001, 1e-5}).verdict, Verdict::differentially_private);
    EXPECT_NE(verdict_sentence(verdict({0.001, 1e-5})).find("epsilon 0.001 "), std::string::npos);
    for (const PrivacyGuarantee guarantee : {PrivacyGuarantee{1e6, 1e-5}, PrivacyGuarantee{1, 0.99}}) {
        const Finding finding = verdict(guarantee);
        EXPECT_NE(finding.verdict, Verdict::differentially_private);
        EXPECT_NE(verdict_sentence(finding).find("no guarantee: "), std::string::npos) << verdict_sentence(finding);
    }
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
    options.guarantee = PrivacyGuarantee{1, 1e-5};
    EXPECT_THROW(audit(people.views(), people.controls.view(), options), InputError);
    options.guarantee.reset();
    auto huge = choose(sparse_patients(40, 5, 6, 2), 2, 5, 1);
    huge.clients[1].data()[0] = 1e160;
    EXPECT_THROW(audit(huge.views(), huge.controls.view(), options), InputError);
    auto empty = choose(sparse_patients(40, 5, 6, 2), 2, 5, 1);
    std::fill_n(empty.clients[0].data(), empty.clients[0].size(), 0.0);
    EXPECT_THROW(audit(empty.views(), empty.controls.view(), options), InputError);
    options.job.rank.reset();
    EXPECT_THROW(audit(people.views(), people.controls.view(), options), InputError);
}

// The figures of the health records, against the attacks' controls.

Tensor<double> as_tensor(const Matrix<double>& records, Index m, Index n) {
    Tensor<double> x({records.rows(), m, n});
    std::copy_n(records.data(), records.size(), x.data());
    return x;
}

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

/// What an honest coordinator receives in a masked job with the policy on is a list of patients.
TEST(AuditFigures, TheLatticeRebuildsPatientsFromMaskedSums) {
    const auto records = testing::condition_drug_records(360, 24, 24, 3);
    const auto people = choose(as_tensor(records, 24, 24), 4, 40, 1);
    const auto report = audit(people.views(), people.controls.view(), {.job = ranked_job(10), .only = "secure"});
    for (const char* seen_by : {"coordinator", "coordinator with a client"}) {
        const Finding& sums = find(report, "secure", seen_by);
        EXPECT_LE(sums.directions, 9) << "the policy is on";
        EXPECT_GE(sums.lattice.share(), 0.8) << seen_by;
        EXPECT_EQ(sums.lattice.controls_recovered, 0);
        EXPECT_EQ(sums.verdict, Verdict::patients);
        EXPECT_EQ(sums.best().name, "lattice");
    }
}

TEST(AuditFigures, MaskedSumsOfHealthRecords) {
    const auto all = support::load_real("cms");
    if (!all) GTEST_SKIP() << "COUPLET_DATA is not set";
    const auto people = choose(*all, 4, 40, 0);
    const auto report = audit(people.views(), people.controls.view(), {.job = ranked_job(10), .only = "secure"});
    const Finding& sums = find(report, "secure", "coordinator");
    EXPECT_GE(sums.lattice.share(), 0.9);
    EXPECT_EQ(sums.lattice.controls_recovered, 0);
}

}  // namespace
}  // namespace couplet
