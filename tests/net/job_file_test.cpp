#include "job_file.hpp"

#include "net_test_support.hpp"

namespace couplet::net {
namespace {

JobFile some_job() {
    JobFile job;
    job.id = wire::parse_job_id(random_hex());
    job.spec = {resolve_job({.rank = 5, .seed = 1ULL << 63}), {true, 0.25}};
    job.roster = {"a", "b", "c"};
    job.phase = Phase::delivering;
    job.attempt = 2;
    job.members = {0, 2};
    job.late = {1};
    job.late_results = {3};
    job.personal_ranks = {5, 4, 5};
    job.result = 2;
    job.reports[2] = {5, 0.1, 1.0 / 3, 0.2, 0.4, 1.5};
    job.rounds = 2;
    job.resumed = {"z", "c"};
    job.schema = Schema{Shape{2}, {{"lab", {"age", "bmi"}, {"years", ""}}}};
    job.traffic = {100, 200, 1e15, 3};
    return job;
}

TEST(JobFileTest, IsReadBackBitForBit) {
    const JobFile job = some_job();
    const JobFile back = parse_job_file(job_file_text(job), "job.json");
    EXPECT_EQ(job_file_text(back), job_file_text(job));
    EXPECT_EQ(back.id, job.id);
    EXPECT_EQ(back.reports.at(2).norm2, 1.0 / 3);
    EXPECT_EQ(back.spec.job.seed, 1ULL << 63);
    EXPECT_EQ(difference(back.spec, job.spec), "");
    EXPECT_EQ(back.schema, job.schema);
    EXPECT_EQ(back.resumed, job.resumed);
    EXPECT_EQ(back.still_resumed(), (std::vector<std::size_t>{0}));  // c came again
}

TEST(JobFileTest, EveryFieldIsReadBack) {
    const JobFile job = some_job();
    const JobFile back = parse_job_file(job_file_text(job), "job.json");
    EXPECT_EQ(back.roster, job.roster);
    EXPECT_EQ(back.phase, Phase::delivering);
    EXPECT_EQ(back.attempt, 2U);
    EXPECT_EQ(back.members, job.members);
    EXPECT_EQ(back.late, job.late);
    EXPECT_EQ(back.late_results, job.late_results);
    EXPECT_EQ(back.personal_ranks, job.personal_ranks);
    EXPECT_EQ(back.result, 2U);
    EXPECT_EQ(back.rounds, 2);
    EXPECT_EQ(back.traffic.numbers_up, 100);
    EXPECT_EQ(back.traffic.numbers_down, 200);
    EXPECT_EQ(back.traffic.bytes_up, 1e15);
    EXPECT_EQ(back.traffic.bytes_down, 3);
    ASSERT_EQ(back.reports.size(), 1U);
    const wire::Report& report = back.reports.at(2);
    EXPECT_EQ(report.rank, 5);
    EXPECT_EQ(report.error2, 0.1);
    EXPECT_EQ(report.heldout_error2, 0.2);
    EXPECT_EQ(report.heldout_norm2, 0.4);
    EXPECT_EQ(report.seconds, 1.5);
    for (const JobOptions& options :
         {JobOptions{.aggregate = Aggregate::average, .rank = 3}, JobOptions{.eps = 0.25},
          JobOptions{.aggregate = Aggregate::subspace, .rank = 4, .sketch = Sketch::random, .passes = 2},
          JobOptions{.aggregate = Aggregate::subspace, .rank = 4, .sketch = Sketch::gram}}) {
        JobFile other = some_job();
        other.spec = {resolve_job(options), {false, 0}};
        const wire::JobSpec same = parse_job_file(job_file_text(other), "job.json").spec;
        EXPECT_EQ(same.job.aggregate, other.spec.job.aggregate);
        EXPECT_EQ(same.job.rank, other.spec.job.rank);
        EXPECT_EQ(same.job.eps, other.spec.job.eps);
        EXPECT_EQ(same.job.eps1, other.spec.job.eps1);
        EXPECT_EQ(same.job.eps2, other.spec.job.eps2);
        EXPECT_EQ(same.job.refit, other.spec.job.refit);
        EXPECT_EQ(same.job.sketch, other.spec.job.sketch);
        EXPECT_EQ(same.job.passes, other.spec.job.passes);
        EXPECT_EQ(same.job.oversampling, other.spec.job.oversampling);
        EXPECT_FALSE(same.preparation.scale_clients);
        EXPECT_EQ(same.preparation.heldout, 0);
    }
    for (const Phase phase : {Phase::joining, Phase::running, Phase::delivering, Phase::closed}) {
        JobFile other = some_job();
        other.phase = phase;
        EXPECT_EQ(parse_job_file(job_file_text(other), "job.json").phase, phase);
    }
}

TEST(JobFileTest, ACompletionIsReadBackBitForBit) {
    JobFile job = some_job();
    job.spec.missing = CompletionLimits{30, 1e-6};
    job.completing = {4, {1.0 / 3, 2.5}, {{100, 20, 3, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 1e-7, 0.8, 0}}};
    const JobFile back = parse_job_file(job_file_text(job), "job.json");
    EXPECT_EQ(back.spec.missing, job.spec.missing);
    EXPECT_EQ(back.completing.base, 4U);
    EXPECT_EQ(back.completing.norm2, job.completing.norm2);
    ASSERT_EQ(back.completing.history.size(), 1U);
    const FillSums& sums = back.completing.history.front();
    EXPECT_EQ(sums.entries, 100);
    EXPECT_EQ(sums.validation_means2, 0.5);
    EXPECT_EQ(sums.change2, 1e-7);
    EXPECT_EQ(job_file_text(back), job_file_text(job));
    JobFile other = job;
    other.spec.missing.reset();
    EXPECT_NE(difference(job.spec, other.spec).find("missing"), std::string::npos);
    other = job;
    other.completing.norm2 = {1};
    EXPECT_NE(complaint([&] { parse_job_file(job_file_text(other), "job.json"); }).find("1 norms"), std::string::npos);
}

TEST(JobFileTest, AJobOfSecureSumsIsReadBack) {
    JobFile job = some_job();
    job.spec.shield = ShieldTerms{false, 2, PrivacyGuarantee{0.5, 1e-6}, 3.0, NoisePlace::local};
    job.closed = {{0, 2}, {}, {2}};
    ShieldReport report;
    report.secure = true;
    report.threshold = 3;
    report.ring_bits = 54;
    report.sums = 4;
    report.directions = 39;
    report.clip = 3.0;
    report.changes = {"passes 3 -> 1"};
    report.warnings = {"close"};
    report.noise = plan_noise({0.5, 1e-6}, 3, 4, NoisePlace::local, 3, 3);
    job.shield = report;
    const JobFile back = parse_job_file(job_file_text(job), "job.json");
    EXPECT_EQ(job_file_text(back), job_file_text(job));
    EXPECT_EQ(back.closed, job.closed);
    EXPECT_EQ(back.spec.shield->guarantee->epsilon, 0.5);
    EXPECT_EQ(back.spec.shield->noise, NoisePlace::local);
    EXPECT_EQ(back.shield->noise->sigma, report.noise->sigma);
    EXPECT_EQ(back.shield->changes, report.changes);
    JobFile budget = job;
    budget.spec.shield = ShieldTerms{.policy = false, .clip = 2.0, .mu = 3.5};
    budget.shield->mu = 3.5;
    budget.shield->error = BudgetError{0.5, 0.4, 0.6};
    const JobFile read = parse_job_file(job_file_text(budget), "job.json");
    EXPECT_EQ(job_file_text(read), job_file_text(budget));
    EXPECT_EQ(read.spec.shield->mu, 3.5);
    EXPECT_EQ(read.shield->mu, 3.5);
    EXPECT_EQ(read.shield->error->high, 0.6);
    EXPECT_NE(difference(budget.spec, job.spec).find("shield"), std::string::npos);
    wire::JobSpec plain = job.spec;
    plain.shield.reset();
    EXPECT_NE(difference(plain, job.spec).find("shield"), std::string::npos);
    job.closed = {{7}};
    EXPECT_THROW(parse_job_file(job_file_text(job), "job.json"), InputError);
}

TEST(JobFileTest, AWeightIsReadBack) {
    JobFile job = some_job();
    job.spec.centring.weight = Weight::pearson;
    EXPECT_EQ(parse_job_file(job_file_text(job), "job.json").spec.centring, job.spec.centring);
}

TEST(JobFileTest, ACentringIsReadBackBitForBit) {
    JobFile job = some_job();
    job.spec.centring = {true, true};
    EXPECT_EQ(parse_job_file(job_file_text(job), "job.json").centred.attempt, 0U);
    job.centred = {4, {1.0 / 3, 2.5}};
    const JobFile back = parse_job_file(job_file_text(job), "job.json");
    EXPECT_EQ(back.spec.centring, job.spec.centring);
    EXPECT_EQ(back.centred.attempt, 4U);
    EXPECT_EQ(back.centred.norm2, job.centred.norm2);
    EXPECT_EQ(job_file_text(back), job_file_text(job));
    JobFile other = job;
    other.spec.centring.scale = false;
    EXPECT_EQ(difference(job.spec, other.spec), "scale none instead of true");
    other.centred.norm2 = {1};
    EXPECT_NE(complaint([&] { parse_job_file(job_file_text(other), "job.json"); }).find("1 norms"), std::string::npos);
}

TEST(JobFileTest, PlacesAreOnTheRoster) {
    const auto refused = [](const std::function<void(JobFile&)>& change) {
        JobFile job = some_job();
        change(job);
        return complaint([&] { parse_job_file(job_file_text(job), "job.json"); });
    };
    const std::string expected = "; expected one on the roster. Remove the folder it is in to begin a new job.";
    EXPECT_EQ(refused([](JobFile& job) { job.members = {0, 3}; }), "job.json: place 3" + expected);
    EXPECT_EQ(refused([](JobFile& job) { job.members = {-1}; }), "job.json: place -1" + expected);
    EXPECT_EQ(refused([](JobFile& job) { job.late = {3}; }), "job.json: place 3" + expected);
    EXPECT_EQ(refused([](JobFile& job) { job.reports[3] = {}; }), "job.json: place 3" + expected);
    EXPECT_EQ(refused([](JobFile& job) { job.members = {0, 1, 2}; }), "");
}

TEST(JobFileTest, KnowsWhoLacksTheResult) {
    JobFile job = some_job();
    job.roster.push_back("d");
    EXPECT_EQ(job.unreported(), (std::vector<Index>{0, 1}));
    EXPECT_EQ(job.absent(), (std::vector<Index>{3}));
    EXPECT_EQ(job.newest(), 3U);
    job.late.clear();
    EXPECT_EQ(job.newest(), 2U);
}

TEST(JobFileTest, NamesWhatDiffers) {
    const auto spec = [](const JobOptions& options) { return wire::JobSpec{resolve_job(options), {}}; };
    EXPECT_EQ(difference(spec({.rank = 3}), spec({.rank = 4})), "rank 4 instead of 3");
    const std::string text = difference(spec({.rank = 3}), spec({.eps = 0.5}));
    EXPECT_NE(text.find("rank none instead of 3"), std::string::npos) << text;
    EXPECT_NE(text.find("eps 0.5 instead of none"), std::string::npos) << text;
}

TEST(JobFileTest, RefusesAnythingElse) {
    std::string text = job_file_text(some_job());
    const auto refused = [&](const std::string& from, const std::string& to) {
        std::string bad = text;
        bad.replace(bad.find(from), from.size(), to);
        return complaint([&] { parse_job_file(bad, "job.json"); });
    };
    EXPECT_NE(refused("delivering", "dancing").find("phase dancing"), std::string::npos);
    JobFile uneven = some_job();
    uneven.late_results.push_back(4);
    EXPECT_NE(complaint([&] { parse_job_file(job_file_text(uneven), "job.json"); }).find("late_results"),
              std::string::npos);
    EXPECT_NE(refused("\"rounds\"", "\"round\""), "");
    EXPECT_NE(refused("\"place\": 2", "\"place\": 9").find("one on the roster"), std::string::npos);
    EXPECT_NE(complaint([&] { parse_job_file("{", "job.json"); }).find("Remove the folder"), std::string::npos);
}

}  // namespace
}  // namespace couplet::net
