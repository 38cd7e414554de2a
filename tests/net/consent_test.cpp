#include "couplet/net/consent.hpp"

#include <gtest/gtest.h>

#include "couplet/core/error.hpp"
#include "couplet/ctt/client.hpp"
#include "couplet/ctt/subspace.hpp"
#include "net_test_support.hpp"

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

/// Unit vectors, from the one numbered `first`.
Matrix<double> units(Index columns, Index first = 0) {
    auto basis = Matrix<double>::zeros(features.size(), columns);
    for (Index j = 0; j < columns; ++j) basis(std::min(j + first, features.size() - 1), j) = 1;
    return basis;
}

wire::Message request(Index pass, SubspaceIteration::Want want, Index columns, Index attempt = 0, Index first = 0) {
    wire::Message message{{}, SumRequest{pass, want, pass == 0 ? Matrix<double>() : units(columns, first)}};
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
    const wire::Message weights{
        {}, wire::CentringRequest{{.mean = each, .weight = Weight::sqrt, .any_at = {0, 0}, .patients = 200}}};
    EXPECT_NE(refusal(consent, weights).find("a centring of another kind"), std::string::npos);
    spec.centring = {.weight = Weight::sqrt};
    EXPECT_NE(job_text(std::get<wire::Welcome>(job.body)).find("weighted (sqrt)"), std::string::npos);
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
    EXPECT_NE(refusal(consent, welcome(ranked(3))).find("`aggregate` stack; expected subspace (aggregates)"),
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
    JobOptions sums = ranked(2, Aggregate::subspace);
    sums.passes = 2;
    sums.oversampling = 3;
    Consent enough({}, 20, features);
    EXPECT_EQ(refusal(enough, welcome(sums)), "");
    Consent few({}, 19, features);
    EXPECT_NE(refusal(few, welcome(sums)).find("10 directions of 19 patients; expected at most 9 (max_rank_share)"),
              std::string::npos);
    sums.sketch = Sketch::gram;
    Consent gram({}, 59, features);
    EXPECT_NE(refusal(gram, welcome(sums)).find("30 directions of 59 patients; expected at most 29"),
              std::string::npos);
    Consent larger({}, 60, features);
    EXPECT_EQ(refusal(larger, welcome(sums)), "");
}

TEST(Consent, AShareOfNothingAllowsNothing) {
    SitePolicy none;
    none.max_rank_share = 0;
    Consent consent(none, 100, features);
    EXPECT_NE(refusal(consent, welcome(ranked(1, Aggregate::average))).find("rank 1"), std::string::npos);
    EXPECT_NE(refusal(consent, welcome(ranked(1, Aggregate::subspace))).find("(max_rank_share)"), std::string::npos);
    consent.vet(welcome(ranked(1)));
    auto x = Tensor<double>::zeros({100, 6, 5});
    for (Index i = 0; i < x.size(); ++i) x.data()[i] = static_cast<double>((i * i * 7 + 3 * i) % 11);
    const wire::Message upload{{}, compress_client(x.view(), {.max_rank = 1, .precision = Precision::f64})};
    EXPECT_NE(refusal(consent, upload).find("(max_rank_share)"), std::string::npos);
}

TEST(Consent, ASumIsOnTheBasisThatTheJobPromised) {
    using Want = SubspaceIteration::Want;
    const auto complaint_of = [](const wire::Message& message) {
        Consent consent({}, 100, features);
        consent.vet(welcome(ranked(3, Aggregate::subspace)));
        return refusal(consent, message);
    };
    const auto says = [&](const wire::Message& message, const char* words) {
        EXPECT_NE(complaint_of(message).find(words), std::string::npos) << complaint_of(message);
    };
    says(request(0, Want::projected, 13), "another kind of sum as number 1");
    says(request(3, Want::sketch, 13), "another kind of sum as number 4");
    wire::Message longer = request(1, Want::sketch, 13);
    std::get<SumRequest>(longer.body).basis(3, 2) = 1000;
    says(longer, "not orthonormal");
    says({{}, SumRequest{1, Want::sketch, Matrix<double>::zeros(features.size(), 13)}}, "not orthonormal");
    says({{}, SumRequest{1, Want::sketch, Matrix<double>::zeros(2, 1)}}, "not orthonormal");
    EXPECT_EQ(complaint_of(request(0, Want::sketch, 13)), "");
    EXPECT_EQ(complaint_of(request(1, Want::sketch, 13)), "");
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
    EXPECT_NE(refusal(wide, request(1, Want::sketch, 14)).find("a sum 14 columns wide; expected at most 13"),
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

/// Whoever has agreed to masked sums, or to none, has not agreed to show its own.
TEST(Consent, AnswersNoSumThatTheJobIsNotMadeOf) {
    const wire::Message asked = request(0, SubspaceIteration::Want::sketch, 13);
    wire::Message job = welcome(ranked(3, Aggregate::subspace));
    std::get<wire::Welcome>(job.body).spec.shield.emplace();
    Consent masked({}, 1000, features);
    masked.vet(job);
    EXPECT_NE(refusal(masked, asked).find("a job without sums that everybody can read"), std::string::npos);
    Consent stack({}, 1000, features);
    stack.vet(welcome(ranked(3)));
    EXPECT_NE(refusal(stack, asked).find("a job without sums that everybody can read"), std::string::npos);
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
    EXPECT_NE(refusal(narrow, request(1, SubspaceIteration::Want::sketch, 13)).find("(max_sum_width)"),
              std::string::npos);
}

TEST(Consent, PeersHoldTheWidthOfSumsAgainstThePolicyWhenTheyBegin) {
    SitePolicy narrow;
    narrow.max_sum_width = 12;
    JobOptions options = ranked(3, Aggregate::subspace);
    options.network = Network::decentralized;
    Consent consent(narrow, 100, features);
    EXPECT_NE(refusal(consent, welcome(options)).find("sums 13 columns wide; expected at most 12 (max_sum_width)"),
              std::string::npos);
    options.sketch = Sketch::gram;
    EXPECT_NE(refusal(consent, welcome(options)).find("sums 30 columns wide"), std::string::npos);
}

TEST(Consent, RefusesToFillMissingEntriesWhereThatIsNotAllowed) {
    SitePolicy complete;
    complete.missing = false;
    Consent consent(complete, 100, features);
    auto job = welcome(ranked(3));
    EXPECT_EQ(refusal(consent, job), "");
    std::get<wire::Welcome>(job.body).spec.missing = CompletionLimits{};
    EXPECT_NE(refusal(consent, job).find("(missing)"), std::string::npos);
    Consent usual({}, 100, features);
    EXPECT_NE(refusal(usual, job).find("(missing)"), std::string::npos) << "who does not say so does not agree to it";
    Consent any(no_policy(), 100, features);
    EXPECT_EQ(refusal(any, job), "");
}

SitePolicy filling_policy() {
    SitePolicy policy;
    policy.missing = true;
    return policy;
}

/// A job of rank 2 that fills missing entries.
wire::Message filling_job(std::uint8_t number = 0) {
    wire::Message job = welcome(ranked(2));
    std::get<wire::Welcome>(job.body).spec.missing = CompletionLimits{.max_iterations = 3};
    job.route.job = wire::JobId{number};
    return job;
}

/// Unit vectors as features, from the one numbered `first`.
FeaturesMessage unit_features(Index rank, Index first = 0) {
    std::vector<Tensor<double>> cores;
    cores.push_back(Tensor<double>::zeros({rank, 6, 5}));
    for (Index r = 0; r < rank; ++r) cores[0].data()[r * 30 + (first + r) % 30] = 1;
    cores.push_back(Tensor<double>::zeros({5, 5, 1}));
    for (Index i = 0; i < 5; ++i) cores[1].data()[i * 5 + i] = 1;
    return {{TensorTrain<double>(std::move(cores)), {}, false}, {}};
}

wire::Message filling(Index first, double step = 1, double means = 0, Index rank = 2, bool answered = false) {
    FeaturesMessage message = unit_features(rank, first);
    message.filling = Filling{.means = means, .step = step, .answered = answered};
    return {{}, std::move(message)};
}

TEST(Consent, FillsAsOftenAsTheJobSaidAndAsItsCourseDoes) {
    Consent consent(filling_policy(), 100, features);
    consent.vet(welcome(ranked(2)));
    EXPECT_NE(refusal(consent, filling(0)).find("features to fill entries from"), std::string::npos);
    consent.vet(filling_job());
    EXPECT_NE(refusal(consent, filling(0, 1, 0, 3)).find("features of rank 3"), std::string::npos);
    EXPECT_NE(refusal(consent, filling(0, 5.1, 0.2)).find("a step of 5.1"), std::string::npos);
    EXPECT_NE(refusal(consent, filling(0, 1.1, 1)).find("a step of 1.1"), std::string::npos);
    for (Index n = 0; n < 3; ++n) {
        EXPECT_EQ(refusal(consent, filling(n, 5, 0.2)), "");
        EXPECT_EQ(refusal(consent, filling(n, 5, 0.2)), "") << "told again";
    }
    EXPECT_NE(refusal(consent, filling(3)).find("filling 4 of the job; expected 3"), std::string::npos);
}

TEST(Consent, ValidationSumsAreOverEnoughEntries) {
    SitePolicy policy = filling_policy();
    policy.min_patients = 8;
    Consent consent(policy, 100, features);
    consent.vet(filling_job());
    FillSums sums;
    sums.validation = 7;
    EXPECT_EQ(refusal(consent, {{}, sums}), "") << "how many there are is no secret of theirs";
    sums.validation_norm2 = 1;
    EXPECT_NE(refusal(consent, {{}, sums}).find("sums over 7 entries"), std::string::npos);
    sums.validation = 8;
    EXPECT_EQ(refusal(consent, {{}, sums}), "");
}

TEST(Consent, HoldsOutNobodyOrEnough) {
    Consent consent({}, 36, features);
    EXPECT_NE(
        refusal(consent, welcome(ranked(2), 1.0 / 36)).find("holds out 1 patients; expected nobody, or at least 6"),
        std::string::npos);
    EXPECT_NE(refusal(consent, welcome(ranked(2), 5.0 / 36)), "");
    EXPECT_EQ(refusal(consent, welcome(ranked(2), 6.0 / 36)), "");
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
        Consent consent(policy, 100, features);
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
    plan.noise->guarantee = {1, 1e-5};
    EXPECT_EQ(complaint({}, plan), "") << "noise says by itself how much a patient can show";
    plan.noise->guarantee = {1e9, 0.5};
    EXPECT_NE(complaint({}, plan), "") << "too little of it says nothing";
}

class MemoryTest : public NetTest {
  protected:
    MemoryTest() : x_(Tensor<double>::zeros({60, 6, 5})) {
        for (Index i = 0; i < x_.size(); ++i) x_.data()[i] = static_cast<double>((i * i * 7 + 3 * i) % 101);
    }
    /// Of a process that has just been started.
    Consent consent(const SitePolicy& policy = {}) {
        Consent fresh(policy, 60, features);
        fresh.remember(ledger_, x_);
        return fresh;
    }
    static wire::Message job(std::uint8_t number, const JobOptions& options, double heldout = 0) {
        wire::Message message = welcome(options, heldout);
        message.route.job = wire::JobId{number};
        return message;
    }
    static JobOptions sums(Index rank) {
        JobOptions options = ranked(rank, Aggregate::subspace);
        options.passes = 2;
        options.oversampling = 2;
        return options;
    }
    Tensor<double> x_;
    DisclosureLedger ledger_{path("disclosed.jsonl")};
};

TEST_F(MemoryTest, JobsOfOneRunAndOfLaterOnesAddUp) {
    using Want = SubspaceIteration::Want;
    JobOptions options = sums(3);
    Consent running = consent();
    running.vet(job(1, options));
    running.vet(request(0, Want::sketch, 5));
    running.vet(request(1, Want::sketch, 5));
    running.vet(request(2, Want::projected, 10));
    const Cohort all = make_cohort(x_, 0, 0, 0);
    EXPECT_EQ(ledger_.shown(all, 30, false), 10) << "the last basis spans the blocks";
    // The coordinator begins the same job again under another name: nothing new, until it asks for something new.
    running.vet(job(2, options));
    EXPECT_EQ(refusal(running, request(0, Want::sketch, 5)), "");
    EXPECT_EQ(refusal(running, request(1, Want::sketch, 5)), "");
    EXPECT_EQ(ledger_.shown(all, 30, false), 10);
    for (Index first = 5; first <= 20; first += 5) {
        EXPECT_EQ(refusal(running, request(1, Want::sketch, 5, first, first)), "") << first;
    }
    EXPECT_EQ(ledger_.shown(all, 30, false), 30) << "all that the policy allows: half of 60 patients";
    // A process that is started again knows, and so does one with another seed.
    options.seed = 77;
    Consent later = consent();
    EXPECT_EQ(refusal(later, job(3, options)), "") << "30 features have no more than 30 directions";
}

TEST_F(MemoryTest, DirectionsOfAllJobsHaveALimit) {
    SitePolicy policy;
    policy.max_directions_share = 0.25;
    JobOptions options = sums(3);
    Consent running = consent(policy);
    running.vet(job(1, options));
    running.vet(request(0, SubspaceIteration::Want::sketch, 5));
    running.vet(request(1, SubspaceIteration::Want::sketch, 5));
    options.seed = 77;
    Consent later = consent(policy);
    EXPECT_NE(refusal(later, job(2, options))
                  .find("20 directions of 60 patients, with those that job 01000000000000000000000000000000 showed; "
                        "expected at most 15 by all jobs together (max_directions_share)"),
              std::string::npos)
        << refusal(later, job(2, options));
    policy.max_directions_share = 1;
    Consent relaxed = consent(policy);
    EXPECT_EQ(refusal(relaxed, job(2, options)), "");
}

TEST_F(MemoryTest, FillingDoesNotBeginTheCountAnew) {
    SitePolicy policy = filling_policy();
    policy.max_directions_share = 0.25;
    auto filled = job(1, sums(3));
    std::get<wire::Welcome>(filled.body).spec.missing = CompletionLimits{};
    Consent running = consent(policy);
    running.vet(filled);
    for (Index attempt = 1; attempt <= 3; ++attempt) {
        EXPECT_EQ(refusal(running, request(0, SubspaceIteration::Want::sketch, 5, attempt)), "") << attempt;
        running.vet(filling(attempt, 1, 0, 2, true));
    }
    EXPECT_NE(refusal(running, request(0, SubspaceIteration::Want::sketch, 5, 4)).find("(max_directions_share)"),
              std::string::npos);
}

/// The data that is sent after a filling is other data: with features and steps of its choice a coordinator would see
/// one direction after another.
TEST_F(MemoryTest, RowsThatWereFilledAnewAreOthers) {
    SitePolicy policy = filling_policy();
    policy.max_directions_share = 0.1;  // 6 of 60 patients
    const wire::Message rows{{}, compress_client(x_.view(), {.max_rank = 2, .precision = Precision::f64})};
    const Cohort all = make_cohort(x_, 0, 0, 0);
    Consent running = consent(policy);
    running.vet(filling_job(1));
    running.vet(rows);
    for (Index n = 0; n < 2; ++n) {
        running.vet(filling(n));
        EXPECT_EQ(refusal(running, rows), "");
        EXPECT_EQ(refusal(running, rows), "") << "again";
    }
    EXPECT_EQ(ledger_.shown(all, 30, false), 6);
    EXPECT_NE(refusal(running, filling(2)).find("7 directions"), std::string::npos)
        << "18 numbers are one of 30 features";
    running.vet(filling(2, 1, 0, 2, true));
    EXPECT_NE(refusal(running, rows).find("8 directions of 60 patients"), std::string::npos);
    // What begins anew is filled as at first, and known.
    running.vet({{}, wire::StartNotice{{3, 60, 1000}}});
    EXPECT_EQ(refusal(running, rows), "");
}

TEST_F(MemoryTest, AFewIncompletePatientsAreNotFilled) {
    const auto lacking = [&](Index patients) {
        for (Index i = 0; i < patients; ++i) x_.data()[i * 30 + i] = std::numeric_limits<double>::quiet_NaN();
        Consent fresh = consent(filling_policy());
        return refusal(fresh, filling_job(1));
    };
    EXPECT_EQ(lacking(0), "");
    EXPECT_NE(lacking(1).find("fills entries of 1 patients alone"), std::string::npos);
    EXPECT_NE(lacking(5), "");
    EXPECT_EQ(lacking(6), "");
}

TEST_F(MemoryTest, HowWellFeaturesFitIsBooked) {
    const wire::Message rows{{}, compress_client(x_.view(), {.max_rank = 15, .precision = Precision::f64})};
    SitePolicy policy;
    policy.max_directions_share = 0.25;
    const Cohort all = make_cohort(x_, 0, 0, 0);
    for (std::uint8_t number = 1; number <= 16; ++number) {
        Consent fresh = consent(policy);
        fresh.vet(job(number, ranked(15)));
        fresh.vet(rows);
        const wire::Message last{{}, unit_features(1, number)};
        EXPECT_EQ(refusal(fresh, last), "") << "its own numbers come with a job";
        EXPECT_EQ(refusal(fresh, last), "") << "told again";
    }
    EXPECT_EQ(ledger_.shown(all, 30, false), 16) << "16 of them are a direction";
    Consent later = consent(policy);
    EXPECT_NE(refusal(later, job(99, ranked(15))).find("16 directions"), std::string::npos);
}

/// Noise that is drawn anew in every job averages out: what counts is what all of them spent.
TEST_F(MemoryTest, AGuaranteeIsAsGoodAsAllJobsTogether) {
    PrivacyBook book(path("account"));
    const std::string data = make_cohort(x_, 0, 0, 0).id;
    ShieldPlan plan;
    plan.job = resolve_job(sums(3));
    plan.sums = 1;
    plan.noise = plan_noise({4, 1e-5}, 1, 1, NoisePlace::local, 3, 3);
    std::vector<std::string> told;
    for (std::uint8_t number = 1; number <= 6; ++number) {
        Consent fresh({}, 60, features);
        fresh.remember(ledger_, x_, &book);
        auto noised = job(number, sums(3));
        std::get<wire::Welcome>(noised.body).spec.shield =
            ShieldTerms{.guarantee = PrivacyGuarantee{4, 1e-5}, .clip = 1.0};
        fresh.vet(noised);
        told.push_back(complaint([&] { fresh.vet_plan(plan); }));
        book.spend(data, wire::to_hex(noised.route.job), *plan.noise, {});
    }
    EXPECT_EQ(told.front(), "");
    EXPECT_NE(told.back().find("with all jobs on these patients epsilon"), std::string::npos) << told.back();
    EXPECT_NE(told.back().find("(patients_per_direction)"), std::string::npos);
}

/// What jobs spend of a patient adds up in squares, and whoever is refused is told what is left.
TEST_F(MemoryTest, ABudgetIsForAllJobsOnThesePatients) {
    PrivacyBook book(path("account"));
    const std::string data = make_cohort(x_, 0, 0, 0).id;
    const auto ask = [&](std::uint8_t number, double mu) {
        Consent fresh({}, 60, features);
        fresh.remember(ledger_, x_, &book);
        auto wanted = job(number, sums(3));
        std::get<wire::Welcome>(wanted.body).spec.shield = ShieldTerms{.policy = false, .mu = mu};
        ShieldPlan plan;
        plan.job = resolve_job(sums(3));
        plan.sums = 4;
        plan.mu = mu;
        plan.noise = plan_noise({1, 1e-5}, 1, 1, NoisePlace::distributed, 3, 3);
        plan.noise->rho = rho_of_mu(mu);
        const std::string said = complaint([&] {
            fresh.vet(wanted);
            fresh.vet_plan(plan);
        });
        if (said.empty()) book.spend(data, wire::to_hex(wanted.route.job), *plan.noise, {});
        return said;
    };
    EXPECT_EQ(ask(1, 3), "");
    EXPECT_EQ(ask(1, 3), "") << "the same job again";
    EXPECT_NE(ask(2, 5).find("a job of mu 5 for one patient; expected at most 4 (mu)"), std::string::npos);
    EXPECT_NE(
        ask(3, 3).find("after others of 3 on these patients; expected at most 4 in all, so that 2.65 is left (mu)"),
        std::string::npos);
    EXPECT_EQ(ask(4, 2), "");
    EXPECT_NE(ask(5, 2), "");
}

/// The last sum is on what the blocks span, the coordinator says: nobody else knows all blocks.
TEST_F(MemoryTest, SumsOnProjectionsAreCounted) {
    using Want = SubspaceIteration::Want;
    SitePolicy policy;
    policy.max_directions_share = 0.25;  // 15 of 60 patients
    JobOptions options = sums(3);
    options.passes = 1;
    Consent running = consent(policy);
    running.vet(job(1, options));
    std::string told;
    Index answered = 0;
    for (Index attempt = 1; attempt <= 60 && told.empty(); ++attempt) {
        running.vet(request(0, Want::sketch, 5, attempt));
        wire::Message asked{{}, SumRequest{1, Want::projected, Matrix<double>::zeros(30, 5)}};
        asked.route.attempt = static_cast<std::uint32_t>(attempt);
        for (Index j = 0; j < 5; ++j) std::get<SumRequest>(asked.body).basis((attempt + 6 * j) % 30, j) = 1;
        told = refusal(running, asked);
        answered += told.empty() ? 1 : 0;
    }
    EXPECT_NE(told.find("(max_directions_share)"), std::string::npos) << answered;
    // 5 directions are those of the block; ten more are 155 numbers, of 15 in each sum.
    EXPECT_LE(answered, 11);
    EXPECT_GE(answered, 1);
}

/// Pairs of these jobs are far enough apart; what all three add up to is one patient.
TEST_F(MemoryTest, ThreeJobsMustNotLeaveOnePatient) {
    const auto rows_of = [&](Index from, Index until) {
        auto x = Tensor<double>::zeros({until - from, 6, 5});
        std::copy(x_.data() + from * 30, x_.data() + until * 30, x.data());
        return x;
    };
    const auto told = [&](std::uint8_t number, const Tensor<double>& x) {
        Consent fresh({}, x.shape()[0], features);
        fresh.remember(ledger_, x);
        std::string words = refusal(fresh, job(number, ranked(2)));
        const wire::Message rows{{}, compress_client(x.view(), {.max_rank = 2, .precision = Precision::f64})};
        return words.empty() ? refusal(fresh, rows) : words;
    };
    EXPECT_EQ(told(1, x_), "");
    EXPECT_EQ(told(2, rows_of(0, 30)), "");
    EXPECT_NE(told(3, rows_of(29, 60)).find("leave a group of 1 who took part in the same jobs"), std::string::npos);
    EXPECT_EQ(told(4, rows_of(30, 60)), "") << "two halves";
    EXPECT_EQ(told(5, x_), "");
}

TEST_F(MemoryTest, TheDifferenceOfTwoJobsIsAJobOnWhoeverDiffers) {
    Consent first = consent();
    const auto upload = [&](Index rank) {
        return wire::Message{{}, compress_client(x_.view(), {.max_rank = rank, .precision = Precision::f64})};
    };
    first.vet(job(1, ranked(4)));
    first.vet(upload(4));
    Consent second = consent();
    SitePolicy any_held;
    any_held.min_patients = 1;
    any_held.max_rank_share = 0.1;
    const auto without_one = job(2, ranked(4), 0.02);
    Consent alone = consent(any_held);
    EXPECT_NE(
        refusal(alone, without_one).find("a job on the patients of job 01000000000000000000000000000000 but for 1"),
        std::string::npos)
        << refusal(alone, without_one);
    EXPECT_NE(refusal(alone, without_one).find("(any_cohort)"), std::string::npos);
    EXPECT_NE(refusal(second, without_one).find("holds out 1 patients"), std::string::npos);
    // Sums of features, which would show the one patient, are not told either: the job is refused as a whole.
    EXPECT_EQ(refusal(second, job(3, ranked(4))), "") << "the same patients again";
    EXPECT_EQ(refusal(second, job(4, ranked(4), 0.2)), "") << "twelve others";
    EXPECT_NE(refusal(second, upload(8)).find("8 directions take 16"), std::string::npos) << refusal(second, upload(8));
    EXPECT_EQ(refusal(second, upload(4)), "");
    SitePolicy open;
    open.any_cohort = true;
    open.min_patients = 1;
    Consent relaxed = consent(open);
    EXPECT_EQ(refusal(relaxed, without_one), "");
}

TEST_F(MemoryTest, RowsOfRecordsThatWerePreparedOtherwiseAreOthers) {
    SitePolicy policy;
    policy.max_directions_share = 0.25;  // 15 of 60 patients
    const auto upload = [&](Index rank) {
        return wire::Message{{}, compress_client(x_.view(), {.max_rank = rank, .precision = Precision::f64})};
    };
    const auto centred = [&](std::uint8_t number, double by) {
        auto message = job(number, ranked(10));
        std::get<wire::Welcome>(message.body).spec.centring.scale = true;
        Consent site = consent(policy);
        std::string said = refusal(site, message);
        wire::CentringRequest request;
        request.centring.scale.assign(30, by);
        if (said.empty()) said = refusal(site, {{}, request});
        return said.empty() ? refusal(site, upload(10)) : said;
    };
    EXPECT_EQ(centred(1, 2), "");
    EXPECT_EQ(centred(2, 2), "") << "the same rows again";
    EXPECT_NE(centred(3, 3).find("20 directions of 60 patients"), std::string::npos) << centred(3, 3);
    Consent plain = consent(policy);
    EXPECT_EQ(refusal(plain, job(4, ranked(4))), "");
    EXPECT_EQ(refusal(plain, upload(4)), "");
    Consent average = consent(policy);
    EXPECT_EQ(refusal(average, job(5, ranked(1, Aggregate::average))), "");
    EXPECT_EQ(refusal(average, upload(1)), "") << "all that is left";
    EXPECT_NE(refusal(average, upload(2)).find("16 directions"), std::string::npos);
    auto scaled = job(6, ranked(1));
    std::get<wire::Welcome>(scaled.body).spec.preparation.scale_clients = true;
    Consent last = consent(policy);
    EXPECT_NE(refusal(last, scaled).find("16 directions"), std::string::npos);
}

TEST_F(MemoryTest, WhatPeersSendToAConsensusIsBookedWhenTheyBegin) {
    JobOptions options = ranked(4, Aggregate::average);
    options.network = Network::decentralized;
    Consent peer = consent();
    peer.vet(job(1, options));
    const Cohort all = make_cohort(x_, 0, 0, 0);
    EXPECT_EQ(ledger_.shown(all, 30, false), 4);
    options = sums(3);
    options.network = Network::decentralized;
    peer.vet(job(2, options));
    EXPECT_EQ(ledger_.shown(all, 30, false), 14);
    peer.vet(job(2, options));
    EXPECT_EQ(ledger_.shown(all, 30, false), 14) << "the same job with the same members";
    SitePolicy strict;
    strict.max_directions_share = 0.25;
    options.seed = 5;
    Consent other = consent(strict);
    EXPECT_NE(refusal(other, job(3, options)).find("(max_directions_share)"), std::string::npos);
}

TEST_F(MemoryTest, SumsOfTheFeaturesAreBookedBeforeTheyAreSent) {
    const auto centred = [&](std::uint8_t number, double heldout) {
        wire::Message message = job(number, ranked(4, Aggregate::stack), heldout);
        auto& centring = std::get<wire::Welcome>(message.body).spec.centring;
        centring.centre = centring.scale = true;
        return message;
    };
    const wire::Message ask{{}, wire::CentringRequest{}};
    Consent first = consent();
    first.vet(centred(1, 0));
    first.vet(ask);
    EXPECT_EQ(ledger_.shown(make_cohort(x_, 0, 0, 0), 30, false), 2);
    first.vet(ask);
    EXPECT_EQ(ledger_.shown(make_cohort(x_, 0, 0, 0), 30, false), 2) << "the same sums again";
    // The means of all but one patient are that patient.
    SitePolicy any_held;
    any_held.min_patients = 1;
    any_held.max_rank_share = 0.1;
    Consent second = consent(any_held);
    std::string told = refusal(second, centred(2, 0.017));
    if (told.empty()) told = refusal(second, ask);
    EXPECT_NE(told.find("(any_cohort)"), std::string::npos) << told;
}

TEST_F(MemoryTest, MaskedSumsOfAllJobsHaveALimit) {
    const auto masked_job = [&](std::uint8_t number) {
        auto message = job(number, sums(3));
        std::get<wire::Welcome>(message.body).spec.shield = ShieldTerms{};
        return message;
    };
    ShieldPlan plan;
    plan.job = resolve_job(sums(3));
    plan.sums = 3;
    plan.directions = 10;
    plan.patients = plan.honest = 150;
    const auto complaint = [&](Consent& consent) -> std::string {
        try {
            consent.vet_plan(plan);
        } catch (const InputError& error) {
            return error.what();
        }
        return "";
    };
    const auto numbers_leave = [&](Consent& consent, std::vector<std::string> members, bool agreed) -> std::string {
        const SubspaceIteration first(plan.job, features);
        auto last = Matrix<double>::zeros(30, 10);
        for (Index i = 0; i < 10; ++i) last(i, i) = 1;
        auto second = Matrix<double>::zeros(30, 5);
        for (Index i = 0; i < 5; ++i) second(i, i) = 1;
        try {
            consent.vet_sum({plan, 1, SubspaceIteration::Want::sketch, first.basis(), members, agreed});
            consent.vet_sum({plan, 2, SubspaceIteration::Want::sketch, second, members, agreed});
            consent.vet_sum({plan, 3, SubspaceIteration::Want::projected, last, members, agreed});
        } catch (const InputError& error) {
            return error.what();
        }
        return "";
    };
    const Cohort all = make_cohort(x_, 0, 0, 0);
    Consent first = consent();
    first.vet(masked_job(1));
    EXPECT_EQ(complaint(first), "");
    EXPECT_EQ(ledger_.shown(all, 30, true), 0) << "a job that ends here has shown nothing";
    EXPECT_EQ(numbers_leave(first, {"a", "b", "c", "d"}, false), "");
    EXPECT_EQ(ledger_.shown(all, 30, true), 10) << "the last basis spans the blocks";
    EXPECT_EQ(complaint(first), "") << "the same job, after a connection was lost";
    EXPECT_EQ(numbers_leave(first, {"a", "b", "c", "d"}, true), "");
    EXPECT_EQ(ledger_.shown(all, 30, true), 10);
    // The same again shows nothing new; of other clients it is another job, also when some are lost on the way.
    Consent again = consent();
    again.vet(masked_job(9));
    EXPECT_EQ(complaint(again), "");
    EXPECT_EQ(numbers_leave(again, {"d", "b", "c", "a"}, false), "");
    EXPECT_EQ(numbers_leave(again, {"d", "b", "c", "a"}, true), "");
    EXPECT_NE(numbers_leave(again, {"a", "b", "c"}, true).find("was shown before with others"), std::string::npos);
    EXPECT_NE(numbers_leave(again, {"a", "b", "c"}, false).find("20 directions by masked sums"), std::string::npos);
    EXPECT_EQ(ledger_.shown(all, 30, true), 10);
    // Records clipped elsewhere are others.
    plan.clip = 2;
    Consent clipped = consent();
    clipped.vet(masked_job(8));
    EXPECT_NE(complaint(clipped).find("(patients_per_direction)"), std::string::npos);
    plan.clip.reset();
    Consent second = consent();
    auto other_seed = masked_job(2);
    JobOptions other = sums(3);
    other.seed = 77;
    plan.job = resolve_job(other);
    std::get<wire::Welcome>(other_seed.body).spec.job = plan.job;
    second.vet(other_seed);
    EXPECT_NE(complaint(second).find("Jobs with `dp_epsilon` have an account"), std::string::npos) << complaint(second);
    EXPECT_NE(complaint(second).find("20 directions by masked sums, with those that job "), std::string::npos)
        << complaint(second);
    EXPECT_NE(complaint(second).find("at most 15 by all jobs together (patients_per_direction)"), std::string::npos);
    plan.honest = 200;
    EXPECT_EQ(complaint(second), "");
    plan.noise.emplace();
    plan.noise->guarantee = {1, 1e-5};
    Consent noised = consent();
    auto under_noise = masked_job(3);
    std::get<wire::Welcome>(under_noise.body).spec.shield->guarantee = PrivacyGuarantee{1, 1e-5};
    noised.vet(under_noise);
    EXPECT_EQ(complaint(noised), "") << "there is an account for that";
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
