#include <fmt/format.h>
#include <fmt/ranges.h>

#include <atomic>
#include <set>

#include "couplet/net/consent.hpp"
#include "couplet/secure/secure_client.hpp"
#include "net_test_support.hpp"

/// Secure sums by the real daemons over real sockets.
namespace couplet::net {
namespace {

class SecureJobTest : public NetTest {
  protected:
    TestFederation federation(Index clients) {
        return TestFederation(path("kits"), population(clients, {30, 6, 7}, 5, 0.7, 0.05));
    }
    static JobOptions ranked(Sketch sketch = Sketch::random) {
        JobOptions job;
        job.aggregate = Aggregate::subspace;
        job.rank = 4;
        job.sketch = sketch;
        job.passes = 2;
        return job;
    }
    static CoordinatorOptions secure_options(const JobOptions& job, ShieldTerms terms = {.policy = false}) {
        CoordinatorOptions options = job_options(job);
        options.spec.shield = terms;
        return options;
    }
};

struct JobOfFour {
    CoordinatorResult coordinator;
    std::vector<ClientResult> clients;
};

/// The coordinator and its four clients, in this process.
JobOfFour run_all(const TestFederation& parties, Coordinator& coordinator) {
    auto done = std::async(std::launch::async, [&] { return coordinator.run(); });
    std::vector<std::future<ClientResult>> clients;
    for (std::size_t k = 0; k < 4; ++k) {
        clients.push_back(std::async(std::launch::async, [&, k] { return attend(parties, k); }));
    }
    JobOfFour job;
    for (auto& client : clients) job.clients.push_back(client.get());
    job.coordinator = done.get();
    return job;
}

Features features_of(const TestFederation& federation, const std::string& party) {
    return {to_train(to_double(load_model(federation.kits / party / "features.npz"))), {}, true, {}};
}

/// ||V1 V1^T - V2 V2^T|| / ||V1 V1^T|| of the features' row spaces.
double projector_distance(const Features& a, const Features& b) {
    const auto x = rows_of(a.train);
    auto rest = rows_of(b.train);
    if (x.rows() != rest.rows()) return 1;
    const auto across = product<double>(x.view(), rest.view(), Op::none, Op::transpose);
    multiply<double>(across.view(), Op::transpose, x.view(), Op::none, rest.view(), -1, 1);
    return std::sqrt(2 * squared_norm<double>(rest.view()) / static_cast<double>(x.rows()));
}

TEST_F(SecureJobTest, GivesTheFeaturesOfThePlainJobAndShowsNothingElse) {
    const auto parties = federation(4);
    Log log({}, {});
    Coordinator coordinator(parties.coordinator(), secure_options(ranked()), log);
    const auto [result, results] = run_all(parties, coordinator);
    const Expected expected = simulated(parties, parties.everybody(), ranked());
    for (const ClientResult& client : results) {
        EXPECT_LT(projector_distance(*expected.result.features, client.features), 1e-9);
        EXPECT_EQ(client.members, parties.names);
        EXPECT_GT(client.rse, 0);
        EXPECT_EQ(client.numbers_up, result.numbers_up_per_client);
    }
    parties.expect_one_count(result, results);
    EXPECT_GT(result.bytes_up, 8 * 3 * result.numbers_up_per_client) << "the steps of every sum are in it";
    EXPECT_NEAR(results[0].rse, expected.result.rse_per_client[0], 1e-9);
    EXPECT_EQ(result.members, parties.names);
    ASSERT_TRUE(result.shield);
    EXPECT_EQ(result.shield->threshold, 3);
    EXPECT_EQ(result.shield->sums, 3);
    EXPECT_EQ(result.numbers_up_per_client, expected.result.numbers_up_per_client);
    // What the coordinator knows of a single client: that it was there.
    EXPECT_FALSE(result.rse);
    EXPECT_TRUE(result.rse_per_client.empty());
    for (const ClientStatus& client : coordinator.status().clients) {
        EXPECT_FALSE(client.rows);
        EXPECT_FALSE(client.rse);
    }
}

TEST_F(SecureJobTest, MessagesSayNeitherHowManyPatientsThereAreNorHowLong) {
    const auto parties = federation(3);
    Log log({}, {});
    Coordinator coordinator(parties.coordinator(), secure_options(ranked(Sketch::gram)), log);
    auto done = std::async(std::launch::async, [&] { return coordinator.run(); });
    auto others = std::async(std::launch::async, [&] { return attend(parties, 1); });
    auto third = std::async(std::launch::async, [&] { return attend(parties, 2); });
    std::string sent;
    const ClientResult first =
        attend(parties, 0, {.capture = [&](std::span<const char> bytes) { sent.append(bytes.data(), bytes.size()); }});
    EXPECT_LT(first.bytes_up, static_cast<double>(sent.size())) << "every byte that is counted was handed over";
    EXPECT_GT(first.bytes_up + first.bytes_overhead, static_cast<double>(sent.size()));
    others.get();
    third.get();
    done.get();
    const auto contains = [&](double value) {
        return sent.find(std::string(reinterpret_cast<const char*>(&value), sizeof value)) != std::string::npos;
    };
    const auto x = parties.data[0].view().unfold(1);
    EXPECT_FALSE(contains(squared_norm<double>(x)));
    EXPECT_FALSE(contains(x(0, 0)));
    const auto gram_matrix = gram<double>(x, Side::right);
    EXPECT_FALSE(contains(gram_matrix(0, 0)));
}

TEST_F(SecureJobTest, ProcessesThatAreKilledComeBack) {
    // The coordinator between two steps of the first sum over the data, and a client that has just revealed its shares
    // of it: keys are made again for the sums that follow. Nobody answers twice for one key, and the features are those
    // of everybody.
    const auto parties = federation(4);
    const std::vector<std::string> flags{"--secure",           "--policy", "off",      "--rank", "4",
                                         "--sketch",           "random",   "--passes", "2",      "--deadline",
                                         text_of(at_ease(10s))};
    auto coordinator = start_coordinator(parties, flags, {"COUPLET_CRASH_AT=step-closed:5"});
    std::vector<Process> clients;
    const std::vector<std::string> off{"--policy", "off"};
    clients.push_back(start_client(parties, 0, {}, off));
    clients.push_back(start_client(parties, 1, {"COUPLET_CRASH_AT=answer-sent:6"}, off));
    clients.push_back(start_client(parties, 2, {}, off));
    clients.push_back(start_client(parties, 3, {}, off));
    ASSERT_TRUE(coordinator.ends());
    EXPECT_EQ(coordinator.wait(), 128 + SIGKILL);
    auto again = start_coordinator(parties, flags);
    ASSERT_TRUE(clients[1].ends());
    EXPECT_EQ(clients[1].wait(), 128 + SIGKILL);
    auto back = start_client(parties, 1, {}, off);
    EXPECT_EQ(again.wait(), 0) << again.err();
    EXPECT_EQ(back.wait(), 0) << back.err();
    for (const std::size_t k : {0, 2, 3}) EXPECT_EQ(clients[k].wait(), 0) << clients[k].err();
    const Expected expected = simulated(parties, parties.everybody(), ranked());
    for (const auto& party : {"coordinator", "a", "b", "c", "d"}) {
        EXPECT_LT(projector_distance(*expected.result.features, features_of(parties, party)), 1e-9) << party;
    }
}

TEST_F(SecureJobTest, ClientsThatAreLostInTheFirstSumAreLeftOut) {
    for (const int stage : {6, 7}) {
        const TestFederation parties(path("kits" + std::to_string(stage)), population(5, {30, 6, 7}, 5, 0.7, 0.05));
        auto coordinator = start_coordinator(parties, {"--secure", "--policy", "off", "--rank", "4", "--sketch", "gram",
                                                       "--deadline", text_of(at_ease(3s))});
        std::vector<Process> clients;
        // The start, keys, shares, then numbers and shares of each sum: with the counts, with the data, after them.
        const std::string crash = "COUPLET_CRASH_AT=answer-computed:" + std::to_string(stage);
        for (std::size_t k = 0; k < 5; ++k) {
            clients.push_back(start_client(parties, k,
                                           k == 2 ? std::vector<std::string>{crash} : std::vector<std::string>{},
                                           {"--policy", "off"}));
        }
        EXPECT_EQ(coordinator.wait(), 0) << coordinator.err();
        EXPECT_EQ(clients[2].wait(), 128 + SIGKILL);
        for (const std::size_t k : {0, 1, 3, 4}) EXPECT_EQ(clients[k].wait(), 0) << clients[k].err();
        // Whoever is lost after its numbers are in is in the sum.
        const bool in_it = stage > 6;
        const Expected expected = simulated(parties, in_it ? parties.everybody() : std::vector<std::size_t>{0, 1, 3, 4},
                                            ranked(Sketch::gram));
        EXPECT_LT(projector_distance(*expected.result.features, features_of(parties, "a")), 1e-9) << stage;
        const auto json = nlohmann::json::parse(coordinator.out());
        EXPECT_EQ(json["members"].size(), in_it ? 5U : 4U);
        EXPECT_EQ(json["privacy"]["threshold"], 4);
    }
}

TEST_F(SecureJobTest, TooManyLostClientsFailTheJobAndTheNextOneIsNew) {
    const auto parties = federation(4);
    auto coordinator = start_coordinator(parties, {"--secure", "--policy", "off", "--rank", "4", "--sketch", "gram",
                                                   "--deadline", text_of(at_ease(2s))});
    std::vector<Process> clients;
    for (std::size_t k = 0; k < 4; ++k) {
        const std::vector<std::string> crash{"COUPLET_CRASH_AT=answer-computed:6"};
        clients.push_back(start_client(parties, k, k < 2 ? crash : std::vector<std::string>{}, {"--policy", "off"}));
    }
    EXPECT_EQ(coordinator.wait(), 1);
    EXPECT_NE(coordinator.err().find("secure sum: 2 clients with numbers; expected at least 3"), std::string::npos)
        << coordinator.err();
    EXPECT_NE(coordinator.err().find("nothing was revealed"), std::string::npos);
    for (auto& client : clients) client.wait();
    EXPECT_FALSE(std::filesystem::exists(parties.kits / "coordinator" / "job" / "job.json"));
    EXPECT_FALSE(std::filesystem::exists(parties.kits / "coordinator" / "features.npz"));
}

TEST_F(SecureJobTest, ALateRefusalIsSaidAtBothEndsAndNobodyWaitsForIt) {
    const auto parties = federation(3);
    std::vector<std::string> lines;
    std::mutex mutex;
    Log log({}, [&](std::string_view line) {
        const std::lock_guard lock(mutex);
        lines.emplace_back(line);
    });
    CoordinatorOptions options = secure_options(ranked(Sketch::gram));
    options.deadline = 600s;
    Coordinator coordinator(parties.coordinator(), std::move(options), log);
    auto failed = std::async(std::launch::async, [&] { return complaint([&] { coordinator.run(); }); });
    std::vector<std::future<std::string>> clients;
    std::atomic<int> sums{0};
    for (std::size_t k = 0; k < 3; ++k) {
        clients.push_back(std::async(std::launch::async, [&, k] {
            ClientOptions own;
            own.vet_sum = [&](const MaskedSum& sum, const std::string&) { sums += sum.sum > 0 && sum.agreed ? 1 : 0; };
            if (k == 1) {
                own.vet_plan = [](const ShieldPlan&, const std::string&) {
                    throw InputError({"this site's policy", "too much", "less", ""});
                };
            }
            return complaint([&] { attend(parties, k, std::move(own)); });
        }));
    }
    EXPECT_NE(clients[1].get().find("this site's policy: too much"), std::string::npos);
    // Two of three are too few: the job ends long before the deadline.
    EXPECT_NE(failed.get().find("secure sum: 2 clients with numbers"), std::string::npos);
    for (const std::size_t k : {0, 2}) EXPECT_NE(clients[k].get(), "");
    EXPECT_EQ(sums, 0) << "nobody has helped to read a sum over the data";
    const std::lock_guard lock(mutex);
    EXPECT_TRUE(std::any_of(lines.begin(), lines.end(), [](const std::string& line) {
        return line.find("client b") != std::string::npos &&
               line.find("this site's policy: too much") != std::string::npos;
    }));
}

TEST_F(SecureJobTest, EverySumIsToldBeforeItsNumbersLeave) {
    const auto parties = federation(3);
    Log log({}, {});
    Coordinator coordinator(parties.coordinator(), secure_options(ranked(Sketch::gram)), log);
    auto done = std::async(std::launch::async, [&] { return complaint([&] { coordinator.run(); }); });
    std::vector<std::string> told;
    std::vector<std::future<std::string>> clients;
    for (std::size_t k = 0; k < 3; ++k) {
        clients.push_back(std::async(std::launch::async, [&, k] {
            ClientOptions own;
            if (k == 0) {
                own.vet_sum = [&](const MaskedSum& sum, const std::string&) {
                    told.push_back(fmt::format("{} {} {}", sum.sum, sum.agreed, fmt::join(sum.members, ",")));
                };
            }
            return complaint([&] { attend(parties, k, std::move(own)); });
        }));
    }
    EXPECT_EQ(done.get(), "");
    for (auto& client : clients) EXPECT_EQ(client.get(), "");
    EXPECT_EQ(told, (std::vector<std::string>{"0 false a,b,c", "0 true a,b,c", "1 false a,b,c", "1 true a,b,c"}));
}

TEST_F(SecureJobTest, ABudgetIsWhatTheRealPartiesAddUpUnder) {
    const auto parties = federation(4);
    Log log({}, {});
    Coordinator coordinator(parties.coordinator(), secure_options(ranked(), {.policy = false, .mu = 900.0}), log);
    const auto [result, results] = run_all(parties, coordinator);
    ASSERT_TRUE(result.shield && result.shield->error && result.rse);
    EXPECT_EQ(result.shield->mu, 900);
    EXPECT_TRUE(result.rse_per_client.empty());
    EXPECT_EQ(result.rounds, 2 + 2 * result.shield->sums + 1);
    const Expected expected = simulated(parties, parties.everybody(), ranked());
    for (const ClientResult& client : results) {
        EXPECT_LT(projector_distance(results[0].features, client.features), 1e-12) << "everybody decodes the same";
        EXPECT_LT(client.rse, 1.5 * expected.result.rse + 0.02);
        EXPECT_EQ(client.numbers_up, result.numbers_up_per_client);
    }
}

TEST_F(SecureJobTest, NeedsCertificatesAndThreeClients) {
    const auto parties = federation(3);
    Log log({}, {});
    CoordinatorOptions open = secure_options(ranked());
    open.insecure = true;
    EXPECT_NE(complaint([&] { Coordinator(parties.coordinator(), std::move(open), log); }).find("`insecure`"),
              std::string::npos);
    const TestFederation two(path("two"), population(2, {30, 6, 7}, 5, 0.7, 0.05));
    EXPECT_NE(complaint([&] { Coordinator(two.coordinator(), secure_options(ranked()), log); }).find("2 clients"),
              std::string::npos);
}

}  // namespace
}  // namespace couplet::net
