#include "couplet/net/site_memory.hpp"

#include <cmath>
#include <fstream>

#include "couplet/sim/simulate.hpp"
#include "couplet/wire/envelope.hpp"
#include "couplet/wire/star_job.hpp"
#include "net_test_support.hpp"

namespace couplet::net {
namespace {

namespace fs = std::filesystem;

/// Sites that end their process after every message: all they know is in their folders.
class SiteMemoryTest : public NetTest {
  protected:
    void SetUp() override {
        NetTest::SetUp();
        for (std::uint64_t k = 0; k < 4; ++k) {
            data_.push_back(
                std::make_shared<Tensor<double>>(support::population_client({60, 5, 4}, 3, 0.7, 0.05, 1, k)));
        }
    }

    static wire::StarJobOptions options() {
        JobOptions job{.aggregate = Aggregate::subspace, .rank = 3};
        job.sketch = Sketch::random;
        wire::StarJobOptions how{.id = {1, 2, 3}, .spec = {resolve_job(job), {}, {}}, .schema = {}};
        how.spec.shield = ShieldTerms{.policy = false};
        how.notary = trusting_notary();
        return how;
    }
    std::string name(std::size_t k) const { return "s" + std::to_string(k); }
    wire::Answer answer(std::size_t k, const std::string& messages) const {
        const SiteMemory memory(path(name(k)));
        const wire::SiteOptions how{
            .vet = {}, .secure = [&](const wire::JobId& id) { return memory.tools(id, memory.own_notary(name(k))); }};
        return wire::answer_all(messages, data_[k], how);
    }
    std::string asked(wire::StarJob& job, std::size_t k) const {
        const auto place = static_cast<Index>(k);
        return job.welcome(place, 4) + job.question(place);
    }
    /// Everybody has greeted and the first step is asked for.
    void begin(wire::StarJob& job) const {
        std::vector<std::string> members;
        for (std::size_t k = 0; k < data_.size(); ++k) {
            job.greet(name(k), answer(k, job.welcome(static_cast<Index>(k), 4)).reply);
            members.push_back(name(k));
        }
        job.refuse_misfits();
        job.begin(members);
    }
    /// One step, without those who are lost.
    void step(wire::StarJob& job, const std::set<Index>& lost = {}) const {
        for (const Index member : job.asked()) {
            if (lost.contains(member)) continue;
            const auto k = static_cast<std::size_t>(member);
            job.take(member, answer(k, asked(job, k)).reply);
        }
        job.close_step();
    }
    /// Error of the features for the data of some, beside that of the plain job.
    double plain_rse(const std::vector<std::size_t>& members) const {
        std::vector<Tensor<double>> copies;
        for (const std::size_t k : members) copies.push_back(Tensor<double>::copy(data_[k]->view()));
        SimulationOptions how;
        how.job = {.aggregate = Aggregate::subspace, .rank = 3};
        how.job.sketch = Sketch::random;
        return simulate(MemorySource(std::move(copies)), std::move(how)).rse;
    }
    double rse_of(const std::vector<wire::Answer>& ends) const {
        double error2 = 0;
        double norm2 = 0;
        for (std::size_t i = 0; i < ends.size(); ++i) {
            double own = 0;
            for (Index j = 0; j < data_[i]->size(); ++j) own += data_[i]->data()[j] * data_[i]->data()[j];
            error2 += ends[i].result->rse * own;
            norm2 += own;
        }
        return error2 / norm2;
    }

    std::vector<std::shared_ptr<const Tensor<double>>> data_;
};

TEST_F(SiteMemoryTest, SecureSumsNeedNoProcessThatLives) {
    wire::StarJob job(options());
    begin(job);
    Index steps = 0;
    for (; !job.delivering(); ++steps) step(job);
    const Index sums = (steps - 2) / 2;  // keys and shares once, then numbers and seeds for every sum
    EXPECT_EQ(steps, 2 + 2 * sums);
    EXPECT_GT(sums, 3);
    std::vector<wire::Answer> ends;
    for (std::size_t k = 0; k < 4; ++k) {
        ends.push_back(answer(k, asked(job, k)));
        job.report(static_cast<Index>(k), ends.back().reply);
        ASSERT_TRUE(ends.back().result->shield);
    }
    // Nobody says how the features fit it, and they fit as those of the plain job.
    const wire::StarJobResult result = job.result();
    EXPECT_FALSE(result.rse);
    EXPECT_TRUE(result.rse_per_client.empty());
    ASSERT_TRUE(result.shield);
    EXPECT_EQ(result.shield->threshold, 3);
    EXPECT_NEAR(rse_of(ends), plain_rse({0, 1, 2, 3}), 1e-9);
    // What was asked for is written down; the secrets go with the job.
    EXPECT_TRUE(fs::exists(path("s0") / "sums.json"));
    const SiteMemory memory(path("s0"));
    EXPECT_EQ(memory.tools({1, 2, 3}, {}).record.sums, sums);
    EXPECT_FALSE(memory.tools({1, 2, 3}, {}).journal.requests.empty());
    memory.forget_steps({1, 2, 3});
    EXPECT_TRUE(memory.tools({1, 2, 3}, {}).journal.requests.empty());
}

TEST_F(SiteMemoryTest, NoStepIsAnsweredTwice) {
    wire::StarJob job(options());
    begin(job);
    const std::string keys = asked(job, 0);
    answer(0, keys);  // carried to nobody
    EXPECT_NE(complaint([&] { answer(0, keys); }).find("fresh ones for every try"), std::string::npos);
    step(job, {0});
    EXPECT_EQ(job.asked(), (std::vector<Index>{1, 2, 3}));
    // Masked numbers, the step that must never be repeated.
    step(job);
    const std::string numbers = asked(job, 1);
    answer(1, numbers);
    EXPECT_NE(complaint([&] { answer(1, numbers); }).find("each step of a sum once"), std::string::npos);
}

TEST_F(SiteMemoryTest, ASiteThatIsLostInTheFirstSumIsNotInTheResult) {
    wire::StarJob job(options());
    begin(job);
    for (int i = 0; i < 4; ++i) step(job);  // keys and shares, and the counts
    step(job, {2});                         // the numbers of the next sum
    while (!job.delivering()) step(job);
    EXPECT_EQ(job.result().members, (std::vector<std::string>{"s0", "s1", "s3"}));
    EXPECT_EQ(job.features().features.train.ranks().front(), 3);
}

TEST_F(SiteMemoryTest, RefusesWhatIsNotAsItWasWritten) {
    const SiteMemory memory(path("a"));
    memory.tools({1}, {}).on_step({.root = {7}, .requests = "abc"});
    const wire::SumJournal read = memory.tools({1}, {}).journal;
    EXPECT_EQ(read.root, Key{7});
    EXPECT_EQ(read.requests, "abc");
    std::ofstream(path("a") / "sum-01000000000000000000000000000000.journal") << "short";
    EXPECT_NE(complaint([&] { memory.tools({1}, {}); }).find("5 bytes"), std::string::npos);
    std::ofstream(path("b")) << "a file";
    EXPECT_NE(complaint([&] { SiteMemory(path("b")); }).find("a place for what this site must remember"),
              std::string::npos);
    EXPECT_NE(complaint([&] { trusting_notary().name_of("x"); }), "");
}

TEST_F(SiteMemoryTest, ASiteWithoutMemoryTakesNoPart) {
    wire::StarJob job(options());
    begin(job);
    EXPECT_NE(complaint([&] { wire::answer_all(asked(job, 0), data_[0]); }).find("that this site has keys for"),
              std::string::npos);
}

/// Nobody tells a site that a job has failed.
TEST_F(SiteMemoryTest, SecretsOfAbandonedJobsGo) {
    wire::StarJob dropped(options());
    begin(dropped);
    step(dropped);
    const auto journals = [&] {
        std::set<std::string> names;
        for (const auto& file : fs::directory_iterator(path(name(0)))) {
            if (file.path().extension() == ".journal") names.insert(file.path().filename().string());
        }
        return names;
    };
    ASSERT_EQ(journals().size(), 1U);
    const std::string first = *journals().begin();
    const fs::path old = fs::path(path(name(0))) / first;
    auto how = options();
    how.id = {9, 9};
    wire::StarJob next(how);
    begin(next);
    step(next);
    EXPECT_EQ(journals().size(), 2U) << "one that moved a moment ago may go on";
    step(dropped);
    fs::last_write_time(old, fs::file_time_type::clock::now() - std::chrono::hours(25));
    step(next);
    EXPECT_EQ(journals().size(), 1U);
    EXPECT_FALSE(journals().contains(first));
    // Many that were begun and dropped at once.
    for (int i = 0; i < 20; ++i) {
        std::ofstream(fs::path(path(name(0))) / ("sum-" + std::to_string(i) + ".journal")) << std::string(40, 'x');
    }
    step(next);
    EXPECT_EQ(journals().size(), 9U);
    while (!next.delivering()) step(next);
}

}  // namespace
}  // namespace couplet::net
