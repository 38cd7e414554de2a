#include "couplet/net/peer.hpp"

#include <algorithm>
#include <cstring>
#include <set>

#include "couplet/wire/encoder.hpp"
#include "peer_test_support.hpp"

namespace couplet::net {
namespace {

class PeerNodeTest : public NetTest {};

/// Over real sockets with mutual TLS, every aggregate: the bits of a simulation.
TEST_F(PeerNodeTest, GivesWhatASimulationGives) {
    const TestPeers peers(path("kits"), population(5, {9, 6, 7}, 4, 0.7, 0.05, 4), "ring");
    const std::vector<JobOptions> jobs{
        {.network = Network::decentralized, .rank = 3, .graph = "ring"},
        {.network = Network::decentralized, .aggregate = Aggregate::subspace, .rank = 3, .graph = "ring"},
        {.network = Network::decentralized, .bytes = 6000, .graph = "ring"},
        {.network = Network::decentralized, .rank = 3, .precision = Precision::f32, .graph = "ring"},
        {.network = Network::decentralized,
         .aggregate = Aggregate::average,
         .rank = 3,
         .graph = "ring",
         .iterations = 6},
        {.network = Network::decentralized, .aggregate = Aggregate::stack, .eps = 0.2, .graph = "ring"}};
    for (const JobOptions& job : jobs) {
        std::vector<Matrix<double>> personal;
        Clients copies;
        for (const auto& x : peers.data) copies.push_back(Tensor<double>::copy(x.view()));
        SimulationOptions options{.job = job};
        options.on_personal = [&](Index, const Matrix<double>& core) {
            personal.push_back(Matrix<double>::copy(core.view()));
        };
        const SimulationResult expected = simulate(MemorySource(std::move(copies)), std::move(options));
        std::vector<std::future<PeerResult>> running;
        for (std::size_t k = 0; k < 5; ++k) running.push_back(peers.start(k, peers.options(job)));
        std::set<std::string> ids;
        double sent = 0;
        for (std::size_t k = 0; k < 5; ++k) {
            const PeerResult result = running[k].get();
            ids.insert(result.job);
            EXPECT_TRUE(same_numbers(result.personal, personal[k])) << k;
            if (k == 0 || job.aggregate != Aggregate::average) {
                EXPECT_TRUE(same_bits(result.features, *expected.features)) << k;
            }
            EXPECT_EQ(result.members, peers.names);
            EXPECT_TRUE(result.missing.empty());
            EXPECT_EQ(result.links.size(), 5U);
            EXPECT_EQ(result.place, static_cast<Index>(k));
            EXPECT_EQ(result.restarts, 0);
            EXPECT_EQ(result.rse, expected.rse);
            EXPECT_EQ(result.rse_per_client, expected.rse_per_client);
            EXPECT_EQ(result.personal_ranks, expected.personal_ranks);
            EXPECT_EQ(result.rel_error_bound, expected.rel_error_bound);
            EXPECT_EQ(result.rounds, expected.rounds);
            EXPECT_EQ(result.numbers_total, expected.numbers_total);
            EXPECT_EQ(result.numbers_per_link, expected.numbers_up_per_client);
            EXPECT_EQ(result.bytes_total, expected.bytes_up);
            if (expected.consensus) {  // a merge up a tree has none
                EXPECT_EQ(result.lambda2, expected.consensus->lambda2);
                EXPECT_EQ(result.iterations, expected.consensus->iterations);
            }
            EXPECT_EQ(result.graph, "ring");
            EXPECT_FALSE(result.rse_heldout);
            EXPECT_GT(result.messages_sent, 0);
            EXPECT_GT(result.seconds_max, 0);
            EXPECT_GE(result.seconds_sum, result.seconds_max);
            EXPECT_LE(result.seconds_sum, 5 * result.seconds_max);
            EXPECT_GT(result.seconds_total, result.seconds_max);
            sent += result.numbers_sent;
        }
        EXPECT_EQ(sent, expected.numbers_total) << "everybody's own count together";
        EXPECT_EQ(ids.size(), 1U);
    }
}

/// ||V1 V1^T - V2 V2^T|| / ||V1 V1^T|| of the features' row spaces.
double projector_gap(const Features& a, const Features& b) {
    const auto x = rows_of(a.train);
    auto rest = rows_of(b.train);
    const auto across = product<double>(x.view(), rest.view(), Op::none, Op::transpose);
    multiply<double>(across.view(), Op::transpose, x.view(), Op::none, rest.view(), -1, 1);
    return std::sqrt(2 * squared_norm<double>(rest.view()) / static_cast<double>(x.rows()));
}

/// A job of one sum over the data, that of the Gram matrix.
JobOptions one_sum(const std::string& graph) {
    return {.network = Network::decentralized,
            .aggregate = Aggregate::subspace,
            .rank = 4,
            .sketch = Sketch::gram,
            .graph = graph};
}

PeerOptions masked(PeerOptions options) {
    options.spec.shield = ShieldTerms{.policy = false};
    return options;
}

/// Masked sums over real sockets: the features of plain peers, and nobody's numbers on any link.
TEST_F(PeerNodeTest, MaskedSumsGiveWhatPlainOnesGive) {
    const TestPeers peers(path("kits"), population(4, {30, 6, 7}, 5, 0.7, 0.05, 4), "ring");
    const JobOptions job = one_sum("ring");
    std::vector<std::future<PeerResult>> plain;
    for (std::size_t k = 0; k < 4; ++k) plain.push_back(peers.start(k, peers.options(job)));
    const PeerResult expected = plain[0].get();
    for (std::size_t k = 1; k < 4; ++k) plain[k].get();
    std::mutex mutex;
    std::vector<double> sent;
    std::vector<std::future<PeerResult>> running;
    std::vector<bool> told;
    for (std::size_t k = 0; k < 4; ++k) {
        PeerOptions how = masked(peers.options(job));
        how.vet_sum = [&](const MaskedSum& sum, const std::string&) {
            const std::lock_guard lock(mutex);
            EXPECT_EQ(sum.members, peers.names);
            EXPECT_LE(sum.sum, 1);
            if (sum.sum == 1) told.push_back(sum.agreed);
        };
        how.capture = [&](const wire::Message& message) {
            const auto* state = std::get_if<wire::PeerState>(&message.body);
            if (state == nullptr || state->iteration != 0 || message.route.step != 2) return;
            const std::lock_guard lock(mutex);
            sent.insert(sent.end(), state->values->begin(), state->values->end());
        };
        running.push_back(peers.start(k, std::move(how)));
    }
    for (std::size_t k = 0; k < 4; ++k) {
        const PeerResult result = running[k].get();
        EXPECT_LT(projector_gap(result.features, expected.features), 1e-9);
        EXPECT_EQ(result.members, peers.names);
        EXPECT_FALSE(result.rse) << "nobody tells how well the features fit its patients";
        EXPECT_TRUE(result.rse_per_client.empty());
        ASSERT_TRUE(result.own_rse);
        EXPECT_NEAR(*result.own_rse, expected.rse_per_client[k], 1e-9);
        ASSERT_TRUE(result.shield);
        EXPECT_TRUE(result.shield->secure);
        EXPECT_EQ(result.shield->sums, 1);
    }
    EXPECT_EQ(std::count(told.begin(), told.end(), true), 4) << "every peer hears of the sum before its numbers leave";
    EXPECT_EQ(std::count(told.begin(), told.end(), false), 4);
    ASSERT_EQ(sent.size(), 3U * 2U * 903U) << "three peers send their sums upwards";
    for (std::size_t k = 0; k < 4; ++k) {
        const auto own = gram<double>(peers.data[k].view().unfold(1), Side::right);
        EXPECT_EQ(std::find(sent.begin(), sent.end(), own(0, 0)), sent.end());
    }
}

TEST_F(PeerNodeTest, APeerThatIsLostAfterMasksWereSentEndsTheJob) {
    const TestPeers peers(path("kits"), population(5, {30, 6, 7}, 5, 0.7, 0.05, 4), "complete");
    const JobOptions job = one_sum("complete");
    std::vector<std::future<std::string>> running;
    for (std::size_t k = 0; k < 5; ++k) {
        PeerOptions how = masked(peers.options(job));
        // The last one disagrees once patients are counted: masked counts of everybody are out by then.
        if (k == 4) {
            how.vet_plan = [](const ShieldPlan&, const std::string&) {
                throw InputError({"this site's policy", "too much", "less", ""});
            };
        }
        running.push_back(std::async(std::launch::async, [&peers, k, how = std::move(how)]() mutable {
            return complaint([&] { peers.start(k, std::move(how)).get(); });
        }));
    }
    for (std::size_t k = 0; k < 4; ++k) {
        EXPECT_NE(running[k].get().find("a peer was lost after masked numbers were sent"), std::string::npos) << k;
    }
    EXPECT_NE(running[4].get().find("this site's policy: too much"), std::string::npos);
}

TEST_F(PeerNodeTest, HeldOutAndScaledPeersAreThoseOfASimulation) {
    const TestPeers peers(path("kits"), population(3, {12, 6, 7}, 4, 0.7, 0.05, 4), "complete");
    const JobOptions job{.network = Network::decentralized, .rank = 3, .graph = "complete"};
    std::vector<std::future<PeerResult>> running;
    for (std::size_t k = 0; k < 3; ++k) {
        PeerOptions how = peers.options(job);
        how.spec.preparation = {.scale_clients = true, .heldout = 0.25};
        running.push_back(peers.start(k, std::move(how)));
    }
    std::vector<Matrix<double>> personal;
    Clients copies;
    for (const auto& x : peers.data) copies.push_back(Tensor<double>::copy(x.view()));
    SimulationOptions options{.job = job, .scale_clients = true, .heldout = 0.25};
    options.on_personal = [&](Index, const Matrix<double>& core) {
        personal.push_back(Matrix<double>::copy(core.view()));
    };
    const SimulationResult expected = simulate(MemorySource(std::move(copies)), std::move(options));
    for (std::size_t k = 0; k < 3; ++k) {
        const PeerResult result = running[k].get();
        EXPECT_EQ(result.rse, expected.rse);
        EXPECT_EQ(result.rse_heldout, expected.rse_heldout);
        EXPECT_TRUE(same_numbers(result.personal, personal[k])) << "in the units of its data";
    }
}

/// Everything that a peer hands to its links, searched for rows of its data and of its personal core.
TEST_F(PeerNodeTest, NeitherDataNorPersonalCoreLeave) {
    const TestPeers peers(path("kits"), population(3, {9, 6, 7}, 4, 0.7, 0.05, 4), "complete");
    const JobOptions job{.network = Network::decentralized,
                         .aggregate = Aggregate::subspace,
                         .rank = 3,
                         .sketch = Sketch::random,
                         .graph = "complete"};
    std::string sent;
    std::mutex mutex;
    std::vector<std::future<PeerResult>> running;
    for (std::size_t k = 0; k < 3; ++k) {
        PeerOptions how = peers.options(job);
        if (k == 0) {
            how.capture = [&](const wire::Message& message) {
                const std::lock_guard lock(mutex);
                wire::Encoder encoder(message);
                sent += encoder.head();
                for (auto chunk = encoder.next_chunk(); !chunk.empty(); chunk = encoder.next_chunk()) {
                    sent.append(reinterpret_cast<const char*>(chunk.data()), chunk.size());
                }
            };
        }
        running.push_back(peers.start(k, std::move(how)));
    }
    std::vector<PeerResult> results;
    for (auto& one : running) results.push_back(one.get());
    ASSERT_GT(sent.size(), 1000U);
    const auto contains = [&](const double* numbers, std::size_t count) {
        const std::string_view bytes(reinterpret_cast<const char*>(numbers), count * sizeof(double));
        return sent.find(bytes) != std::string::npos;
    };
    const Tensor<double>& x = peers.data[0];
    for (Index row = 0; row < x.shape()[0]; ++row) {
        EXPECT_FALSE(contains(x.data() + row * 42, 2)) << "row " << row;
        EXPECT_FALSE(contains(results[0].personal.view().row(row), 2)) << "row " << row;
    }
}

TEST_F(PeerNodeTest, SaysWhoWasThereWhenThereIsNoMajority) {
    const TestPeers peers(path("kits"), population(4, {9, 6, 7}, 4, 0.7, 0.05, 4), "complete");
    PeerOptions how = peers.options({.network = Network::decentralized, .rank = 3, .graph = "complete"});
    how.deadline = at_ease(1500ms);
    how.gather = at_ease(500ms);
    auto a = peers.start(0, how);
    auto b = peers.start(1, how);
    for (auto* one : {&a, &b}) {
        const std::string said = complaint([&] { one->get(); });
        EXPECT_NE(said.find("reached: a, b"), std::string::npos) << said;
        EXPECT_NE(said.find("c (never seen), d (never seen)"), std::string::npos) << said;
        EXPECT_NE(said.find("more than half of 4 peers"), std::string::npos) << said;
    }
}

TEST_F(PeerNodeTest, PeersOfAnotherJobAreNamedWithTheDifference) {
    const TestPeers peers(path("kits"), population(2, {9, 6, 7}, 4, 0.7, 0.05, 4), "complete");
    PeerOptions three = peers.options({.network = Network::decentralized, .rank = 3, .graph = "complete"});
    PeerOptions four = peers.options({.network = Network::decentralized, .rank = 4, .graph = "complete"});
    three.deadline = four.deadline = at_ease(1500ms);
    auto a = peers.start(0, three);
    auto b = peers.start(1, four);
    const std::string said = complaint([&] { a.get(); });
    EXPECT_NE(said.find("another job: rank 3"), std::string::npos) << said;
    EXPECT_NE(said.find("expected rank 4"), std::string::npos) << said;
    EXPECT_NE(complaint([&] { b.get(); }), "");
}

TEST_F(PeerNodeTest, APeerWithDataOfAnotherKindIsLeftOut) {
    Clients data = population(3, {9, 6, 7}, 4, 0.7, 0.05, 4);
    data[1] = random_tensor<double>({9, 6, 5}, 1);
    const TestPeers peers(path("kits"), std::move(data), "complete");
    PeerOptions how = peers.options({.network = Network::decentralized, .rank = 3, .graph = "complete"});
    how.gather = at_ease(1500ms);
    how.deadline = at_ease(10s);
    std::vector<std::future<PeerResult>> running;
    for (std::size_t k = 0; k < 3; ++k) running.push_back(peers.start(k, how));
    EXPECT_EQ(running[0].get().members, (std::vector<std::string>{"a", "c"}));
    EXPECT_EQ(running[2].get().members, (std::vector<std::string>{"a", "c"}));
    const std::string said = complaint([&] { running[1].get(); });
    EXPECT_NE(said.find("mode 3 has size 5; expected 7"), std::string::npos) << said;
}

TEST_F(PeerNodeTest, StopsWhenToldTo) {
    const TestPeers peers(path("kits"), population(3, {9, 6, 7}, 4, 0.7, 0.05, 4), "complete");
    Log log({}, {});
    PeerNode peer(peers.kit(0), peers.tensor(0),
                  peers.options({.network = Network::decentralized, .rank = 3, .graph = "complete"}), log);
    auto running = std::async(std::launch::async, [&] { return complaint([&] { peer.run(); }); });
    peer.stop();
    EXPECT_NE(running.get().find("stopped"), std::string::npos);
}

TEST_F(PeerNodeTest, TheLogSaysWhoIsWaitedForAndWhoIsInTheResult) {
    const TestPeers peers(path("kits"), population(2, {9, 6, 7}, 4, 0.7, 0.05, 4), "complete");
    const PeerOptions how = peers.options({.network = Network::decentralized, .rank = 3, .graph = "complete"});
    Log log({}, {});
    const auto said = [&](const std::string& text) {
        const auto lines = log.tail();
        return std::any_of(lines.begin(), lines.end(), [&](const std::string& line) { return line.ends_with(text); });
    };
    PeerNode peer(peers.kit(0), peers.tensor(0), how, log);
    auto a = std::async(std::launch::async, [&] { return peer.run(); });
    EXPECT_TRUE(eventually([&] { return said("waiting for 1 of 2: b"); })) << ::testing::PrintToString(log.tail());
    auto b = peers.start(1, how);
    EXPECT_EQ(a.get().members, (std::vector<std::string>{"a", "b"}));
    EXPECT_EQ(b.get().members, (std::vector<std::string>{"a", "b"}));
    EXPECT_TRUE(said("the result is decided; it has 2 of 2 peers: a, b"));
}

TEST_F(PeerNodeTest, TakesOnlyAPeersKitAndADecentralizedJob) {
    const TestPeers peers(path("kits"), population(2, {9, 6, 7}, 4, 0.7, 0.05, 4), "complete");
    Log log({}, {});
    EXPECT_NE(complaint([&] { PeerNode(peers.kit(0), peers.tensor(0), peers.options({.rank = 3}), log); }).find("star"),
              std::string::npos);
    const TestFederation star(path("star"), population(2, {9, 6, 7}, 4, 0.7, 0.05, 4));
    EXPECT_NE(complaint([&] {
                  PeerNode(star.kit("a"), star.tensor(0),
                           peers.options({.network = Network::decentralized, .rank = 3, .graph = "complete"}), log);
              }).find("kit of a client"),
              std::string::npos);
}

/// A computation cannot be interrupted. Its peer ends all the same when it is told to or at its deadline, and the
/// others see at once that it is gone.
TEST_F(PeerNodeTest, EndsInTheMiddleOfAComputation) {
    const TestPeers peers(path("kits"), population(3, {9, 6, 7}, 4, 0.7, 0.05, 4), "complete");
    const auto link = at_ease(1s);
    const auto start = [&](std::size_t k, const std::string& deadline, const std::vector<std::string>& environment) {
        const std::filesystem::path kit = peers.kits / peers.names[k];
        write_npy(kit / "x.npy", peers.data[k].view(), true);
        return Process(
            {"peer", "--kit", kit.string(), "--data", (kit / "x.npy").string(), "--rank", "3", "--json", "--force",
             "--deadline", deadline, "--gather", text_of(at_ease(10s)), "--link-deadline", text_of(link)},
            path(peers.names[k] + ".out"), environment);
    };
    const std::vector<std::string> stall{"COUPLET_STALL_AT=peer-computing"};
    {
        Process a = start(0, "600s", {});
        Process b = start(1, "600s", stall);
        Process c = start(2, "600s", {});
        EXPECT_TRUE(b.says("begins with 3 of 3 peers")) << b.err();
        b.signal(SIGTERM);
        EXPECT_TRUE(b.ends());
        EXPECT_EQ(b.wait(), 128 + SIGTERM) << b.err();
        EXPECT_NE(b.err().find("stopped before the job was done"), std::string::npos) << b.err();
        EXPECT_EQ(a.wait(), 0) << a.err();
        EXPECT_EQ(c.wait(), 0) << c.err();
        EXPECT_EQ(nlohmann::json::parse(a.out())["missing"], (std::vector<std::string>{"b"}));
    }
    const std::string within = fmt::format("a result within {:g} s", 0.003 * static_cast<double>(link.count()));
    std::vector<Process> all;
    for (std::size_t k = 0; k < 3; ++k)
        all.push_back(start(k, text_of(3 * link), k == 1 ? stall : std::vector<std::string>{}));
    for (Process& peer : all) {
        EXPECT_TRUE(peer.ends());
        EXPECT_EQ(peer.wait(), 1) << peer.err();
        EXPECT_NE(peer.err().find(within), std::string::npos) << peer.err();
    }
}

}  // namespace
}  // namespace couplet::net
