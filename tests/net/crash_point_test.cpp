#include "crash_point.hpp"

#include "couplet/core/random.hpp"
#include "couplet/sim/complete.hpp"
#include "net_test_support.hpp"

namespace couplet::net {
namespace {

/// Real processes, killed at every step of the protocol and started again: the same bits every time.
class CrashTest : public NetTest {
  protected:
    static std::vector<std::string> flags(const JobOptions& job) {
        std::vector<std::string> words{"--rank", "3", "--deadline", text_of(at_ease(30s)), "--force"};
        if (job.aggregate == Aggregate::subspace) {
            words.insert(words.end(), {"--aggregate", "subspace", "--sketch", "random"});
        }
        if (job.aggregate == Aggregate::average) words.insert(words.end(), {"--aggregate", "average"});
        return words;
    }
    /// One job in which the coordinator, or client b, is killed at `step` and started again.
    void job_with_crash(const std::string& step, bool coordinator_dies, const JobOptions& job, const Clients& data,
                        const Expected& expected, const std::vector<std::string>& more = {}) {
        SCOPED_TRACE(step + (coordinator_dies ? " of the coordinator" : " of a client"));
        Clients copies;
        for (const auto& x : data) copies.push_back(Tensor<double>::copy(x.view()));
        const TestFederation federation(path("kits-" + std::to_string(jobs_++)), std::move(copies));
        const std::vector<std::string> hook{"COUPLET_CRASH_AT=" + step};
        const std::vector<std::string> none;
        std::vector<std::string> words = flags(job);
        words.insert(words.end(), more.begin(), more.end());
        Process lead = start_coordinator(federation, words, coordinator_dies ? hook : none);
        Process a = start_client(federation, 0);
        Process b = start_client(federation, 1, coordinator_dies ? none : hook);
        if (coordinator_dies) {
            EXPECT_EQ(lead.wait(), 128 + SIGKILL) << lead.err();
            Process again = start_coordinator(federation, words);
            EXPECT_EQ(again.wait(), 0) << again.err();
            EXPECT_EQ(b.wait(), 0) << b.err();
        } else {
            EXPECT_EQ(b.wait(), 128 + SIGKILL) << b.err();
            Process again = start_client(federation, 1);
            EXPECT_EQ(again.wait(), 0) << again.err();
            EXPECT_EQ(lead.wait(), 0) << lead.err();
        }
        EXPECT_EQ(a.wait(), 0) << a.err();
        expect_files(federation, expected, {0, 1});
    }
    /// All steps, a few jobs at a time: they mostly wait.
    void run_all(const std::vector<std::string>& steps, bool coordinator_dies, const JobOptions& job) {
        const Clients data = population(2, {12, 5, 4}, 4, 0.7, 0.05);
        Clients copies;
        for (const auto& x : data) copies.push_back(Tensor<double>::copy(x.view()));
        const TestFederation reference(path("reference-" + std::to_string(jobs_++)), std::move(copies));
        run_steps(steps, coordinator_dies, job, data, simulated(reference, {0, 1}, job), {});
    }
    void run_steps(const std::vector<std::string>& steps, bool coordinator_dies, const JobOptions& job,
                   const Clients& data, const Expected& expected, const std::vector<std::string>& more) {
        std::atomic<std::size_t> next{0};
        std::vector<std::thread> workers;
        for (int i = 0; i < 4; ++i) {
            workers.emplace_back([&] {
                for (std::size_t at = next++; at < steps.size(); at = next++) {
                    job_with_crash(steps[at], coordinator_dies, job, data, expected, more);
                }
            });
        }
        for (auto& worker : workers) worker.join();
    }
    std::atomic<int> jobs_{0};
};

TEST_F(CrashTest, CoordinatorAtEveryStep) {
    run_all({"job-opened",       "gate-accepted",    "welcomed",      "hello-spooled",   "hello-spooled:2",
             "members-fixed",    "start-sent",       "start-sent:2",  "upload-received", "upload-received:2",
             "upload-spooled",   "upload-spooled:2", "merged",        "outcome-saved",   "outcome-kept",
             "features-written", "chunk-sent",       "features-sent", "features-sent:2", "report-saved"},
            true, {.rank = 3});
}

TEST_F(CrashTest, ClientAtEveryStep) {
    run_all({"connected", "hello-computed", "hello-sent", "question-received", "answer-computed", "chunk-sent",
             "answer-sent", "features-received", "result-written"},
            false, {.rank = 3});
}

TEST_F(CrashTest, InTheMiddleOfSumsAndOfThePrintedMethod) {
    const JobOptions sums{.aggregate = Aggregate::subspace, .rank = 3, .sketch = Sketch::random};
    run_all({"request-sent", "request-sent:5", "upload-spooled:4"}, true, sums);
    run_all({"answer-sent:2", "features-received"}, false, sums);
    // Its personal core is computed at the start: a client that forgot it computes it again.
    const JobOptions printed{.aggregate = Aggregate::average, .rank = 3};
    run_all({"features-received", "answer-sent"}, false, printed);
    run_all({"features-written"}, true, printed);
}

/// Every iteration of a completion is an attempt of its own; whoever comes back is told where it stands.
TEST_F(CrashTest, InTheMiddleOfACompletion) {
    Clients data = population(2, {12, 5, 4}, 4, 0.7, 0.05);
    Random random(5);
    for (auto& x : data) {
        for (double& e : x.elements()) {
            if (random.uniform() < 0.2) e = std::numeric_limits<double>::quiet_NaN();
        }
    }
    for (const JobOptions& job :
         {JobOptions{.rank = 3}, JobOptions{.aggregate = Aggregate::subspace, .rank = 3, .sketch = Sketch::random}}) {
        Expected expected;
        {
            Clients copies;
            for (const auto& x : data) copies.push_back(Tensor<double>::copy(x.view()));
            CompletionOptions how;
            how.simulation.job = job;
            how.simulation.on_personal = [&](Index, const Matrix<double>& core) {
                expected.personal.push_back(Matrix<double>::copy(core.view()));
            };
            expected.result = simulate_missing(MemorySource(std::move(copies)), std::move(how));
        }
        ASSERT_TRUE(expected.result.missing->settled);
        ASSERT_GT(expected.result.missing->iterations, 4);
        const bool stack = !job.aggregate;
        run_steps(
            stack ? std::vector<std::string>{"upload-spooled:3", "upload-spooled:7", "merged:2", "outcome-saved:2",
                                             "outcome-kept:2", "start-sent:4", "features-sent:5", "features-written"}
                  : std::vector<std::string>{"request-sent:9", "outcome-kept:3"},
            true, job, data, expected, {"--missing", "impute"});
        run_steps(stack ? std::vector<std::string>{"question-received:3", "answer-computed:4", "answer-sent:6",
                                                   "features-received"}
                        : std::vector<std::string>{"answer-sent:7"},
                  false, job, data, expected, {"--missing", "impute"});
    }
}

/// Centring is an attempt of its own; whoever comes back is told by what the data was moved.
TEST_F(CrashTest, InTheMiddleOfCentring) {
    Clients data = population(2, {12, 5, 4}, 4, 0.7, 0.05);
    FeatureSums sums;
    for (auto& x : data) {
        for (Index i = 0; i < x.size(); ++i) x.data()[i] += static_cast<double>(i % 20);
        sums.add(feature_sums(x.view(), {.centre = true, .scale = true}));
    }
    const Centring centring = centring_of(sums, {.centre = true, .scale = true});
    for (const JobOptions& job : {JobOptions{.rank = 3}, JobOptions{.aggregate = Aggregate::average, .rank = 3}}) {
        Clients moved;
        for (const auto& x : data) moved.push_back(centred(x.view(), centring, "x"));
        const TestFederation reference(path("reference-" + std::to_string(jobs_++)), std::move(moved));
        const Expected expected = simulated(reference, {0, 1}, job);
        const std::vector<std::string> flags{"--centre", "--scale"};
        const bool stack = !job.aggregate;
        run_steps(stack ? std::vector<std::string>{"centring-sent", "centring-sent:4", "upload-spooled:2",
                                                   "upload-spooled:4", "upload-spooled:5", "centring-saved",
                                                   "start-sent:3", "merged", "features-written", "features-sent"}
                        : std::vector<std::string>{"upload-spooled:5", "features-written"},
                  true, job, data, expected, flags);
        run_steps(stack ? std::vector<std::string>{"question-received:2", "question-received:3", "answer-sent:1",
                                                   "answer-sent:2", "answer-sent:3", "features-received"}
                        : std::vector<std::string>{"answer-sent:3", "features-received"},
                  false, job, data, expected, flags);
    }
}

/// A client reports when its result is on disk; a kill right after it loses nothing.
TEST_F(CrashTest, AfterAClientHasReported) {
    const TestFederation federation(path("kits"), population(2, {12, 5, 4}, 4, 0.7, 0.05));
    std::vector<std::string> words = flags({});
    // What was sent may die with its sender: the coordinator waits for it until its deadline.
    *std::next(std::find(words.begin(), words.end(), "--deadline")) = text_of(at_ease(8s));
    Process lead = start_coordinator(federation, words);
    Process a = start_client(federation, 0);
    Process b = start_client(federation, 1, {"COUPLET_CRASH_AT=report-sent"});
    EXPECT_EQ(b.wait(), 128 + SIGKILL);
    EXPECT_EQ(a.wait(), 0) << a.err();
    EXPECT_EQ(lead.wait(), 0) << lead.err();
    expect_files(federation, simulated(federation, {0, 1}, {.rank = 3}), {0, 1});
}

/// The last thing a coordinator does is to close the job; a kill right after it loses nothing.
TEST_F(CrashTest, AfterTheJobIsClosed) {
    const TestFederation federation(path("kits"), population(2, {12, 5, 4}, 4, 0.7, 0.05));
    Process lead = start_coordinator(federation, flags({}), {"COUPLET_CRASH_AT=closed"});
    Process a = start_client(federation, 0);
    Process b = start_client(federation, 1);
    EXPECT_EQ(lead.wait(), 128 + SIGKILL);
    EXPECT_EQ(a.wait(), 0) << a.err();
    EXPECT_EQ(b.wait(), 0) << b.err();
    expect_files(federation, simulated(federation, {0, 1}, {.rank = 3}), {0, 1});
}

/// The same while somebody is merged late: what was merged is neither lost nor merged twice.
TEST_F(CrashTest, CoordinatorAtEveryStepOfALateMerge) {
    const std::vector<std::string> steps{"upload-spooled", "merged",       "outcome-saved",     "outcome-kept",
                                         "features-sent",  "report-saved", "features-written:2"};
    std::atomic<std::size_t> next{0};
    std::vector<std::thread> workers;
    const auto one = [&](const std::string& step) {
        SCOPED_TRACE(step);
        TestFederation federation(path("late-" + step.substr(0, step.find(':'))),
                                  population(2, {12, 5, 4}, 4, 0.7, 0.05));
        {
            Log log({}, {});
            Coordinator coordinator(federation.coordinator(), job_options({.rank = 3}), log);
            auto a = std::async(std::launch::async, [&] { return attend(federation, 0); });
            auto b = std::async(std::launch::async, [&] { return attend(federation, 1); });
            coordinator.run();
            a.get();
            b.get();
        }
        const auto first = simulated(federation, {0, 1}, {.rank = 3});
        provision_client(federation.kits, "c", 30);
        federation.names.push_back("c");
        federation.data.push_back(population_client({12, 5, 4}, 4, 0.7, 0.05, 1, 9));
        std::vector<std::string> words = flags({});
        words.insert(words.end(), {"--late", "merge"});
        Process lead = start_coordinator(federation, words, {"COUPLET_CRASH_AT=" + step});
        Process c = start_client(federation, 2);
        EXPECT_EQ(lead.wait(), 128 + SIGKILL) << lead.err();
        // Who was merged need not be merged again: then the flag is not needed either.
        const bool kept = step == "outcome-kept" || step == "features-sent" || step.starts_with("features-written");
        Process again = start_coordinator(federation, kept ? flags({}) : words);
        if (step == "report-saved") {
            // Everybody has everything: this is another job, which nobody is there for.
            EXPECT_EQ(c.wait(), 0) << c.err();
            again.signal(SIGTERM);
            EXPECT_EQ(again.wait(), 128 + SIGTERM) << again.err();
        } else {
            EXPECT_EQ(again.wait(), 0) << again.err();
            EXPECT_EQ(c.wait(), 0) << c.err();
        }
        const auto expected = simulated(federation, {2}, {.rank = 3}, first.result.state->clone());
        expect_files(federation, expected, {2});
    };
    for (int i = 0; i < 4; ++i) {
        workers.emplace_back([&] {
            for (std::size_t at = next++; at < steps.size(); at = next++) one(steps[at]);
        });
    }
    for (auto& worker : workers) worker.join();
}

TEST_F(CrashTest, SigtermInEveryStateIsCleanAndCanBeContinued) {
    const TestFederation federation(path("kits"), population(2, {12, 5, 4}, 4, 0.7, 0.05));
    const auto terminated = [](Process& process, const std::string& when) {
        EXPECT_TRUE(process.says(when)) << process.err();
        process.signal(SIGTERM);
        EXPECT_EQ(process.wait(), 128 + SIGTERM) << process.err();
        EXPECT_NE(process.err().find("stopped before the job was done"), std::string::npos) << process.err();
    };
    Process early = start_client(federation, 0);
    terminated(early, "trying again");
    Process alone = start_coordinator(federation, flags({}));
    terminated(alone, "waiting for 2 of 2");
    Process lead = start_coordinator(federation, flags({}));
    Process a = start_client(federation, 0);
    EXPECT_TRUE(lead.says("client a joined"));
    terminated(lead, "waiting for 1 of 2: b");
    EXPECT_TRUE(a.says("trying again")) << a.err();
    terminated(a, "trying again");
    // b stays silent once it is asked: the coordinator waits in the middle of the round.
    Process third = start_coordinator(federation, flags({}));
    Process silent = start_client(federation, 1, {"COUPLET_CRASH_AT=question-received"});
    Process a2 = start_client(federation, 0);
    EXPECT_EQ(silent.wait(), 128 + SIGKILL);
    terminated(third, "2 of 2 clients take part");
    Process last = start_coordinator(federation, flags({}));
    Process b = start_client(federation, 1);
    EXPECT_EQ(last.wait(), 0) << last.err();
    EXPECT_EQ(a2.wait(), 0) << a2.err();
    EXPECT_EQ(b.wait(), 0) << b.err();
    expect_files(federation, simulated(federation, {0, 1}, {.rank = 3}), {0, 1});
}

long peak_kib(pid_t process) {
    std::ifstream status("/proc/" + std::to_string(process) + "/status");
    for (std::string line; std::getline(status, line);) {
        if (line.starts_with("VmHWM:")) return std::stol(line.substr(6));
    }
    return 0;
}

/// Uploads go through the disk one by one: what the coordinator needs does not grow with the number of clients.
TEST_F(CrashTest, MemoryIsFlatInTheNumberOfClients) {
    const auto peak = [&](std::size_t clients) {
        Clients data;
        for (std::uint64_t k = 0; k < clients; ++k) data.push_back(random_tensor<double>({16, 32768}, k + 1));
        const TestFederation federation(path("kits" + std::to_string(clients)), std::move(data));
        // Held before its end, so that its peak can be read.
        Process lead =
            start_coordinator(federation, {"--rank", "16", "--eps1", "0", "--deadline", text_of(at_ease(30s))});
        std::vector<std::future<void>> visits;
        for (std::size_t k = 0; k + 1 < clients; ++k) {
            visits.push_back(std::async(std::launch::async, [&federation, k] { attend(federation, k); }));
        }
        // As many directions as patients is nothing that a site would agree to.
        Process last =
            start_client(federation, clients - 1, {"COUPLET_CRASH_AT=features-received"}, {"--policy", "off"});
        EXPECT_EQ(last.wait(), 128 + SIGKILL);
        const long kib = peak_kib(lead.pid());
        attend(federation, clients - 1);
        for (auto& visit : visits) visit.get();
        EXPECT_EQ(lead.wait(), 0) << lead.err();
        return kib;
    };
    // Enough for the merge to be as large as it gets: it takes eight clients in one go.
    const long few = peak(18);
    const long many = peak(28);
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    EXPECT_GT(std::min(few, many), 0);  // a sanitizer keeps what was freed
#else
    // 10 more connections, which hold more for a moment the busier the machine is, and 40 MiB more uploads.
    EXPECT_LT(many - few, 30 * 1024) << few << " KiB with 18 clients, " << many << " KiB with 28";
#endif
}

}  // namespace
}  // namespace couplet::net
