#include "couplet/wire/star_job.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "couplet/wire/envelope.hpp"
#include "couplet/wire/site.hpp"
#include "wire_test_support.hpp"

namespace couplet::wire {
namespace {

using Tensors = std::vector<std::shared_ptr<const Tensor<double>>>;

Tensors shared(const Clients& clients) {
    Tensors result;
    for (const auto& x : clients) result.push_back(std::make_shared<Tensor<double>>(Tensor<double>::copy(x.view())));
    return result;
}

StarJobOptions options(const JobOptions& job, bool missing = false) {
    StarJobOptions result{.id = {1, 2, 3}, .spec = {resolve_job(job), {}, {}}, .schema = {}};
    if (missing) result.spec.missing.emplace();
    return result;
}

std::string name(std::size_t k) { return "s" + std::to_string(k); }

/// Sites that forget everything between questions.
class Federation {
  public:
    Federation(StarJobOptions how, Tensors data) : job(std::move(how)), data_(std::move(data)) {
        for (std::size_t k = 0; k < data_.size(); ++k) {
            job.greet(name(k), answer_all(job.welcome(place(k), sites()), data_[k]).reply);
        }
        refused = job.refuse_misfits();
    }

    Index sites() const { return static_cast<Index>(data_.size()); }
    static Index place(std::size_t k) { return static_cast<Index>(k); }
    std::string answer(std::size_t k) const {
        return answer_all(job.welcome(place(k), sites()) + job.question(), data_[k]).reply;
    }

    void begin() {
        std::vector<std::string> members;
        for (std::size_t k = 0; k < data_.size(); ++k) members.push_back(name(k));
        job.begin(members);
    }
    /// Everybody answers, the last first.
    void round() {
        for (std::size_t k = data_.size(); k-- > 0;) job.take(place(k), answer(k));
    }
    void run() {
        begin();
        while (!job.delivering()) round();
        for (std::size_t k = 0; k < data_.size(); ++k) {
            Answer last = answer_all(job.welcome(place(k), sites()) + job.question(), data_[k]);
            job.report(place(k), last.reply);
            results.push_back(std::move(*last.result));
        }
    }

    StarJob job;
    std::vector<RefusedSite> refused;
    std::vector<SiteResult> results;

  private:
    Tensors data_;
};

TEST(StarJob, GivesTheBitsOfTheStateMachinesThemselves) {
    const Clients clients = population(4, {14, 6, 5}, 4, 0.7, 0.05);
    for (const JobOptions& how :
         {JobOptions{.rank = 3}, JobOptions{.eps = 0.1}, JobOptions{.rank = 3, .precision = Precision::f64},
          JobOptions{.aggregate = Aggregate::average, .rank = 3},
          JobOptions{.aggregate = Aggregate::subspace, .rank = 3, .sketch = Sketch::random},
          JobOptions{.aggregate = Aggregate::subspace, .rank = 3, .sketch = Sketch::gram}}) {
        const Job job = resolve_job(how);
        const StarOutcome expected = drive_star(job, clients);
        Federation run(options(how), shared(clients));
        run.run();
        EXPECT_TRUE(same_bits(run.job.features().features, expected.message->features)) << to_string(job.aggregate);
        EXPECT_EQ(run.job.features().rel_error_bound, expected.message->rel_error_bound);
        const StarJobResult result = run.job.result();
        EXPECT_EQ(result.rounds, expected.coordinator->rounds());
        EXPECT_EQ(result.personal_ranks, expected.coordinator->personal_ranks());
        EXPECT_GT(result.bytes_up, 0);
        ASSERT_TRUE(result.rse);
        for (std::size_t k = 0; k < clients.size(); ++k) {
            const PersonalFit& fit = expected.clients[k].result();
            const Matrix<double>& personal = run.results[k].personal;
            ASSERT_EQ(personal.size(), fit.personal.size());
            EXPECT_TRUE(std::equal(personal.data(), personal.data() + personal.size(), fit.personal.data()));
            EXPECT_EQ(result.rse_per_client[k], fit.error2 / fit.norm2);
        }
    }
}

TEST(StarJob, FillsMissingEntriesWithSitesThatForget) {
    Clients clients = population(3, {20, 6, 5}, 2, 0.7, 0.01);
    for (auto& x : clients) {
        for (Index i = 0; i < x.size(); i += 11) x.data()[i] = std::numeric_limits<double>::quiet_NaN();
    }
    Federation run(options({.rank = 2}, true), shared(clients));
    EXPECT_TRUE(run.job.needs_places());
    run.run();
    const StarJobResult result = run.job.result();
    ASSERT_TRUE(result.imputed);
    EXPECT_TRUE(result.imputed->settled);
    EXPECT_GT(result.imputed->iterations, 1);
    EXPECT_LT(*result.rse, 0.02);
    EXPECT_EQ(run.results[0].settled, true);
}

TEST(StarJob, NamesSitesThatDoNotFitAndGoesOnWithTheOthers) {
    Clients clients = population(3, {8, 4, 3}, 2);
    clients.push_back(population_client({8, 4, 2}, 2, 0.7, 0.01, 1, 9));
    Federation run(options({.rank = 2}), shared(clients));
    ASSERT_EQ(run.refused.size(), 1U);
    EXPECT_EQ(run.refused[0].site, "s3");
    EXPECT_NE(run.refused[0].reason.find("site s3"), std::string::npos) << run.refused[0].reason;
    EXPECT_NE(refusal([&] { run.begin(); }).find("site s3: no greeting"), std::string::npos);
    run.job.begin({"s0", "s1", "s2"});
    EXPECT_FALSE(run.job.delivering());
}

TEST(StarJob, BeginsAgainWithoutALostMember) {
    const Clients clients = population(3, {14, 6, 5}, 4, 0.7, 0.05);
    Federation run(options({.rank = 3}), shared(clients));
    run.begin();
    run.job.take(0, run.answer(0));
    const std::string old = run.answer(1);
    run.job.begin({"s0", "s1"});
    EXPECT_NE(refusal([&] { run.job.take(1, old); }).find("attempt 1"), std::string::npos);
    for (std::size_t k = 0; k < 2; ++k) run.job.take(Federation::place(k), run.answer(k));
    ASSERT_TRUE(run.job.delivering());
    Clients left = population(2, {14, 6, 5}, 4, 0.7, 0.05);
    EXPECT_TRUE(same_bits(run.job.features().features, drive_star(resolve_job({.rank = 3}), left).message->features));
    run.job.report(0, run.answer(0));
    EXPECT_EQ(run.job.result().unreported, std::vector<std::string>{"s1"});
    EXPECT_FALSE(run.job.result().rse);
}

TEST(StarJob, BlamesTheSiteForWhatCannotBeUsed) {
    const Clients clients = population(2, {14, 6, 5}, 4, 0.7, 0.05);
    Federation run(options({.rank = 3}), shared(clients));
    EXPECT_NE(refusal([&] {
                  run.job.greet("s0", answer_all(run.job.welcome(0, 2), shared(clients)[0]).reply);
              }).find("two sites of this name"),
              std::string::npos);
    run.begin();
    EXPECT_NE(refusal([&] { run.job.take(0, "nonsense"); }).find("site s0"), std::string::npos);
    EXPECT_NE(refusal([&] { run.job.take(2, run.answer(0)); }).find("member: 2"), std::string::npos);
    // The answer of another site: other patients than the greeting said.
    const auto other = std::make_shared<Tensor<double>>(population_client({9, 6, 5}, 4, 0.7, 0.05, 1, 7));
    const std::string wrong = answer_all(run.job.welcome(1, 2) + run.job.question(), other).reply;
    const std::string reason = refusal([&] { run.job.take(1, wrong); });
    EXPECT_NE(reason.find("site s1: 9 patients"), std::string::npos) << reason;
    // Nothing of it was taken.
    run.round();
    EXPECT_TRUE(
        same_bits(run.job.features().features, drive_star(resolve_job({.rank = 3}), clients).message->features));
}

TEST(StarJob, AnAnswerThatComesTwiceCountsOnce) {
    const Clients clients = population(2, {14, 6, 5}, 4, 0.7, 0.05);
    Federation run(options({.rank = 3}), shared(clients));
    run.begin();
    run.job.take(0, run.answer(0));
    run.job.take(0, run.answer(0));
    EXPECT_FALSE(run.job.delivering());
    run.job.take(1, run.answer(1));
    EXPECT_TRUE(run.job.delivering());
}

TEST(StarJob, RefusesAGreetingThatWouldSpoilTheSums) {
    Hello hello{Shape{4, 3}, 5, 1e200, {}};
    EXPECT_NE(refusal([&] { require_sound(hello, resolve_job({.rank = 2}), "site a"); }).find("1e+200"),
              std::string::npos);
    hello.norm2 = 1;
    const Job average = resolve_job({.aggregate = Aggregate::average, .rank = 6});
    EXPECT_NE(refusal([&] { require_sound(hello, average, "site a"); }).find("data of rank at most 5"),
              std::string::npos);
}

TEST(StarJob, MergesInATreeWhereItIsAskedTo) {
    const Clients clients = population(18, {14, 6, 5}, 4, 0.7, 0.05);
    const auto made = [&](Index tree) {
        StarJobOptions how = options({.eps = 0.1});
        how.tree = tree;
        Federation run(std::move(how), shared(clients));
        run.run();
        return run.job.result();
    };
    const StarJobResult flat = made(0);
    const StarJobResult tree = made(4);
    EXPECT_EQ(flat.mergers, 0);
    EXPECT_EQ(tree.mergers, 5 + 2 + 1);
    EXPECT_EQ(tree.personal_ranks, flat.personal_ranks);
    EXPECT_EQ(tree.bytes_up, flat.bytes_up);
    EXPECT_LE(*tree.rse, 0.1 * 0.1);
    // Where one merger has room for all nothing changes.
    EXPECT_EQ(*made(18).rse, *flat.rse);
    EXPECT_EQ(made(18).mergers, 0);
}

TEST(StarJob, ATreeIsForRowsThatAreMerged) {
    StarJobOptions narrow = options({.rank = 3});
    narrow.tree = 1;
    EXPECT_THROW(StarJob{narrow}, InputError);
    StarJobOptions sums = options({.aggregate = Aggregate::subspace, .rank = 3});
    sums.tree = 4;
    EXPECT_THROW(StarJob{sums}, InputError);
}

TEST(StarJob, CentringIsForTheDaemons) {
    StarJobOptions options;
    options.spec.job = resolve_job({.rank = 2});
    options.spec.centring.centre = true;
    EXPECT_THROW(StarJob(std::move(options)), InputError);
    const Message welcome{{}, Welcome{{resolve_job({.rank = 2}), {}, {}, {}, {.scale = true}}, 0, 1}};
    const auto x = std::make_shared<const Tensor<double>>(random_tensor<double>({9, 3}, 1));
    EXPECT_THROW(Site(welcome, x), InputError);
}

}  // namespace
}  // namespace couplet::wire
