#include "couplet/net/consent.hpp"

#include <gtest/gtest.h>

#include "couplet/core/error.hpp"
#include "couplet/ctt/client.hpp"
#include "couplet/ctt/subspace.hpp"

namespace couplet::net {
namespace {

const Shape features{6, 5};

wire::Message welcome(const JobOptions& options, double heldout = 0) {
    wire::Welcome body;
    body.spec.job = resolve_job(options);
    body.spec.preparation.heldout = heldout;
    body.clients = 4;
    return {{}, body};
}

JobOptions ranked(Index rank, Aggregate aggregate = Aggregate::stack) {
    JobOptions options;
    options.rank = rank;
    options.aggregate = aggregate;
    if (aggregate == Aggregate::subspace) options.sketch = Sketch::random;
    return options;
}

wire::Message request(Index pass, SubspaceIteration::Want want, Index columns, Index attempt = 0) {
    wire::Message message{{}, SumRequest{pass, want, Matrix<double>::zeros(features.size(), columns)}};
    message.route.attempt = static_cast<std::uint32_t>(attempt);
    return message;
}

std::string refusal(Consent& consent, const wire::Message& message) {
    try {
        consent.vet(message);
    } catch (const InputError& error) {
        return error.what();
    }
    return "";
}

TEST(Consent, RefusesAHandfulOfPatients) {
    Consent few({}, 5, features);
    EXPECT_NE(refusal(few, welcome(ranked(2))).find("5 patients take part; expected at least 6 (min_patients)"),
              std::string::npos);
    Consent enough({}, 6, features);
    EXPECT_EQ(refusal(enough, welcome(ranked(2))), "");
    // One training patient of a thousand: what the coordinator would get is that patient's record.
    Consent many({}, 1000, features);
    EXPECT_NE(refusal(many, welcome(ranked(3), 0.999)).find("holds out 0.999"), std::string::npos);
    SitePolicy loose;
    loose.max_heldout = 1;
    Consent alone(loose, 1000, features);
    EXPECT_NE(refusal(alone, welcome(ranked(3), 0.999)).find("1 patients take part"), std::string::npos);
}

TEST(Consent, SumsOfFeaturesAreAnsweredWhereTheJobSaidSo) {
    Consent consent({}, 100, features);
    wire::Message job = welcome(ranked(3));
    const wire::Message asks{{}, wire::CentringRequest{}};
    EXPECT_EQ(refusal(consent, job), "");
    EXPECT_NE(refusal(consent, asks).find("a job that does not centre"), std::string::npos);
    auto& spec = std::get<wire::Welcome>(job.body).spec;
    spec.centring.centre = true;
    EXPECT_NE(job_text(std::get<wire::Welcome>(job.body)).find("every feature centred"), std::string::npos);
    EXPECT_EQ(refusal(consent, job), "");
    EXPECT_EQ(refusal(consent, asks), "");
    const std::vector<double> each(30, 1.0);
    EXPECT_EQ(refusal(consent, {{}, wire::CentringRequest{{each, {}}}}), "");
    EXPECT_NE(refusal(consent, {{}, wire::CentringRequest{{each, each}}}).find("of another kind"), std::string::npos);
    EXPECT_NE(refusal(consent, {{}, wire::CentringRequest{{{1, 2}, {}}}}).find("of another kind"), std::string::npos);
    // Of a handful of patients sums tell too much, as everything does.
    Consent few({}, 5, features);
    EXPECT_NE(refusal(few, job).find("min_patients"), std::string::npos);
}

TEST(Consent, RefusesAggregatesThatAreNotAllowed) {
    SitePolicy sums_only;
    sums_only.aggregates = {Aggregate::subspace};
    Consent consent(sums_only, 100, features);
    EXPECT_NE(refusal(consent, welcome(ranked(3))).find("--aggregate stack; expected subspace (aggregates)"),
              std::string::npos);
    EXPECT_EQ(refusal(consent, welcome(ranked(3, Aggregate::subspace))), "");
}

TEST(Consent, RefusesARankCloseToTheNumberOfPatients) {
    Consent average({}, 10, features);
    EXPECT_EQ(refusal(average, welcome(ranked(5, Aggregate::average))), "");
    EXPECT_NE(refusal(average, welcome(ranked(6, Aggregate::average))).find("rank 6 for 10 patients"),
              std::string::npos);
    // The stack's rank is known when the message is made: it is not sent.
    Consent stack({}, 10, features);
    stack.vet(welcome(ranked(8)));
    auto x = Tensor<double>::zeros({10, 6, 5});
    for (Index i = 0; i < x.size(); ++i) x.data()[i] = static_cast<double>((i * i * 7 + 3 * i) % 11);
    const auto upload = [&](Index rank) {
        return wire::Message{{}, compress_client(x.view(), {.max_rank = rank, .precision = Precision::f64})};
    };
    EXPECT_EQ(refusal(stack, upload(5)), "");
    EXPECT_NE(refusal(stack, upload(8)).find("rank 8 for 10 patients; expected at most 5 (max_rank_share)"),
              std::string::npos);
}

TEST(Consent, SumsOverFewPatientsHaveFewDirections) {
    Consent consent({}, 10, features);
    EXPECT_EQ(refusal(consent, welcome(ranked(5, Aggregate::subspace))), "");
    EXPECT_NE(refusal(consent, welcome(ranked(6, Aggregate::subspace))).find("(max_rank_share)"), std::string::npos);
}

TEST(Consent, HoldsMergesOfPeersAgainstThePatientsInThem) {
    Consent consent({}, 10, features);
    consent.vet(welcome(ranked(8)));
    const auto merge = [&](Index rank, Index patients) {
        return wire::Message{
            {},
            wire::PeerMerge{{FeatureBlock(Matrix<double>::zeros(rank, features.size()), features), {2, patients, 1}}}};
    };
    EXPECT_EQ(refusal(consent, merge(5, 10)), "");
    EXPECT_NE(refusal(consent, merge(6, 10)).find("rank 6 for 10 patients; expected at most 5 (max_rank_share)"),
              std::string::npos);
    EXPECT_EQ(refusal(consent, merge(6, 30)), "");
}

TEST(Consent, RefusesToBeAloneInAJob) {
    SitePolicy company;
    company.min_others = 1;
    Consent consent(company, 100, features);
    consent.vet(welcome(ranked(3)));
    wire::StartNotice notice;
    notice.start.clients = 1;
    EXPECT_NE(refusal(consent, {{}, notice}).find("0 other parties; expected at least 1 (min_others)"),
              std::string::npos);
    notice.start.clients = 2;
    EXPECT_EQ(refusal(consent, {{}, notice}), "");
}

TEST(Consent, AnswersTheSumsOfTheJobAndNoOther) {
    using Want = SubspaceIteration::Want;
    const auto begin = [] {
        Consent consent({}, 100, features);
        consent.vet(welcome(ranked(3, Aggregate::subspace)));
        return consent;
    };
    Consent honest = begin();
    for (Index pass = 0; pass < 3; ++pass) EXPECT_EQ(refusal(honest, request(pass, Want::sketch, 13)), "");
    EXPECT_EQ(refusal(honest, request(2, Want::sketch, 13)), "") << "asked again after a lost connection";
    EXPECT_EQ(refusal(honest, request(3, Want::projected, 30)), "");
    EXPECT_NE(refusal(honest, request(4, Want::projected, 30)).find("sum 5 of the job; expected 4"), std::string::npos);
    Consent wide = begin();
    EXPECT_NE(refusal(wide, request(0, Want::sketch, 14)).find("a sum 14 columns wide; expected at most 13"),
              std::string::npos);
    Consent other = begin();
    EXPECT_NE(refusal(other, request(0, Want::gram, 0)).find("a sum of another kind"), std::string::npos);
    Consent jumping = begin();
    for (const Index pass : {0, 1, 0, 1}) jumping.vet(request(pass, Want::sketch, 13));
    EXPECT_NE(refusal(jumping, request(0, Want::sketch, 13)).find("sum 5 of the job"), std::string::npos);
    Consent again = begin();
    for (Index attempt = 0; attempt < 3; ++attempt) {
        for (Index pass = 0; pass < 3; ++pass) EXPECT_EQ(refusal(again, request(pass, Want::sketch, 13, attempt)), "");
    }
}

TEST(Consent, HasLimitsOfItsOwnForSums) {
    SitePolicy strict;
    strict.max_sums = 2;
    Consent few(strict, 100, features);
    EXPECT_NE(
        refusal(few, welcome(ranked(3, Aggregate::subspace))).find("a job of 4 sums; expected at most 2 (max_sums)"),
        std::string::npos);
    strict.max_sums = 8;
    strict.max_sum_width = 10;
    Consent narrow(strict, 100, features);
    narrow.vet(welcome(ranked(3, Aggregate::subspace)));
    EXPECT_NE(refusal(narrow, request(0, SubspaceIteration::Want::sketch, 13)).find("(max_sum_width)"),
              std::string::npos);
}

TEST(Consent, RefusesToFillMissingEntriesWhereThatIsNotAllowed) {
    SitePolicy complete;
    complete.missing = false;
    Consent consent(complete, 100, features);
    auto job = welcome(ranked(3));
    EXPECT_EQ(refusal(consent, job), "");
    std::get<wire::Welcome>(job.body).spec.missing = CompletionLimits{};
    EXPECT_NE(refusal(consent, job).find("(missing)"), std::string::npos);
}

wire::Message masked(ShieldTerms terms = {}) {
    auto job = welcome(ranked(3, Aggregate::subspace));
    std::get<wire::Welcome>(job.body).spec.shield = terms;
    return job;
}

TEST(Consent, DecidesWhetherSumsMustBeMaskedAndNoised) {
    SitePolicy secure;
    secure.secure_only = true;
    Consent masks(secure, 100, features);
    EXPECT_NE(refusal(masks, welcome(ranked(3))).find("(secure_only)"), std::string::npos);
    EXPECT_EQ(refusal(masks, masked()), "");
    EXPECT_NE(refusal(masks, masked({.colluders = 0})).find("(colluders)"), std::string::npos);
    SitePolicy private_only;
    private_only.dp_epsilon = 1;
    Consent noise(private_only, 100, features);
    EXPECT_NE(refusal(noise, masked()).find("without differential privacy"), std::string::npos);
    EXPECT_EQ(refusal(noise, masked({.guarantee = PrivacyGuarantee{0.5, 1e-5}, .clip = 1.0})), "");
    EXPECT_EQ(noise.demands().min_cohort, 3);
    EXPECT_EQ(noise.demands().colluders, 1);
}

TEST(Consent, HoldsThePlanOfMaskedSumsAgainstItsOwnLimits) {
    const auto complaint = [](const SitePolicy& policy, const ShieldPlan& plan) -> std::string {
        const Consent consent(policy, 100, features);
        try {
            consent.vet_plan(plan);
        } catch (const InputError& error) {
            return error.what();
        }
        return "";
    };
    ShieldPlan plan;
    plan.job = resolve_job(ranked(3, Aggregate::subspace));
    plan.sums = 4;
    plan.directions = 30;
    plan.patients = 400;
    plan.honest = 300;
    EXPECT_EQ(complaint({}, plan), "");
    plan.honest = 299;
    EXPECT_NE(complaint({}, plan).find("30 directions of 299 honest patients; expected at most 29"), std::string::npos);
    SitePolicy any;
    any.patients_per_direction = 0;
    EXPECT_EQ(complaint(any, plan), "");
    any.max_sums = 3;
    EXPECT_NE(complaint(any, plan).find("(max_sums)"), std::string::npos);
    any.max_sums = 8;
    any.max_sum_width = 12;
    EXPECT_NE(complaint(any, plan).find("a sum 13 columns wide; expected at most 12"), std::string::npos);
    plan.noise.emplace();
    EXPECT_EQ(complaint({}, plan), "") << "noise says by itself how much a patient can show";
}

TEST(Policy, IsReadBackAsItWasWritten) {
    SitePolicy policy;
    policy.min_patients = 50;
    policy.max_rank_share = 0.125;
    policy.aggregates = {Aggregate::subspace, Aggregate::stack};
    policy.max_heldout = 0.25;
    policy.max_sums = 3;
    policy.max_sum_width = 40;
    policy.min_others = 4;
    policy.missing = false;
    policy.secure_only = true;
    policy.min_cohort = 7;
    policy.colluders = 2;
    policy.patients_per_direction = 12.5;
    policy.dp_epsilon = 3;
    policy.dp_delta = 1e-7;
    policy.patience = 90;
    policy.worst_verdict = "features-only";
    EXPECT_EQ(parse_policy(policy_text(policy), "p"), policy);
    EXPECT_EQ(parse_policy("", "p"), SitePolicy{});
    EXPECT_EQ(parse_policy(policy_text({}), "p"), SitePolicy{});
}

TEST(Policy, WhatCannotBeReadProtectsNobodyAndIsRefused) {
    for (const char* text :
         {"min_patients = 0", "min_patients = 1.5", "min_pateints = 5", "max_rank_share = 1.5", "max_heldout = \"x\"",
          "aggregates = \"stack\"", "aggregates = [\"mean\"]", "missing = 1", "= 3", "worst_verdict = \"fine\"",
          "min_cohort = 2", "dp_epsilon = -1", "patients_per_direction = nan", "secure_only = \"yes\""}) {
        EXPECT_THROW(parse_policy(text, "policy.toml"), InputError) << text;
    }
}

TEST(JobText, SaysWhatIsAsked) {
    EXPECT_EQ(job_text(std::get<wire::Welcome>(welcome(ranked(3, Aggregate::subspace), 0.2).body)),
              "aggregate subspace, rank 3, 3 passes, 0.2 held out, 4 clients on the roster");
    const auto job = masked({.policy = false, .guarantee = PrivacyGuarantee{0.5, 1e-5}, .clip = 2.0});
    EXPECT_NE(job_text(std::get<wire::Welcome>(job.body))
                  .find("masked sums without the leakage policy, epsilon 0.5 at delta 1e-05, records clipped at 2"),
              std::string::npos);
}

}  // namespace
}  // namespace couplet::net
