#include "couplet/secure/secure_peer.hpp"

#include <cmath>
#include <deque>
#include <set>

#include "couplet/consensus/graph_builders.hpp"
#include "couplet/ctt/client.hpp"
#include "couplet/ctt/masked_state.hpp"
#include "couplet/ctt/refit.hpp"
#include "couplet/tt/tensor_train.hpp"
#include "secure_test_support.hpp"

namespace couplet {
namespace {

using State = Released<std::vector<double>>;

/// Peers whose messages go from hand to hand.
struct SecurePeers {
    SecurePeers(support::Clients data, Job wanted, ShieldTerms how = {.policy = false},
                const std::string& kind = "ring")
        : clients(std::move(data)),
          job(std::move(wanted)),
          terms(how),
          graph(make_graph(kind, static_cast<Index>(clients.size()), 0)),
          identities(clients.size()) {}

    SecurePeer::Options options(std::size_t k) {
        return {.job = job,
                .graph = graph,
                .node = static_cast<Index>(k),
                .terms = terms,
                .session = Key{7},
                .sign = [this, k](Bytes text) { return identities[k].sign(text); },
                .verify =
                    [this](Party party, Bytes text, const Signature& signature) {
                        return verify_signature(identities[static_cast<std::size_t>(party)].verifying(), text,
                                                signature);
                    },
                .on_plan =
                    [this](const ShieldPlan&) {
                        if (refuses) throw InputError({"this site's policy", "too much", "less", ""});
                    },
                .on_masked = [this, k] { masked.insert(k); }};
    }
    void run() {
        for (std::size_t k = 0; k < clients.size(); ++k) {
            machines.push_back(std::make_unique<SecurePeer>(clients[k].view(), options(k)));
        }
        for (std::size_t k = 0; k < clients.size(); ++k) put(k, machines[k]->start());
        while (!mail.empty()) {
            auto [from, message] = std::move(mail.front());
            mail.pop_front();
            if (tamper) tamper(from, message);
            const auto to = static_cast<std::size_t>(message.to);
            put(to, machines[to]->receive(from, message));
        }
    }
    void put(std::size_t from, std::vector<PeerMessage> messages) {
        for (PeerMessage& message : messages) mail.emplace_back(static_cast<Index>(from), std::move(message));
    }
    std::string refusal() {
        try {
            run();
        } catch (const RunError& error) {
            return error.what();
        }
        return "";
    }

    support::Clients clients;
    Job job;
    ShieldTerms terms;
    Graph graph;
    std::vector<Identity> identities;
    std::vector<std::unique_ptr<SecurePeer>> machines;
    std::deque<std::pair<Index, PeerMessage>> mail;
    std::function<void(Index from, PeerMessage&)> tamper;
    std::set<std::size_t> masked;
    bool refuses = false;
};

support::Clients people(Index clients, Index patients = 30) {
    return support::population(clients, {patients, 6, 7}, 5, 0.7, 0.05);
}

Features plain(const support::Clients& clients, const Job& job) {
    SubspaceIteration iteration(job, {6, 7});
    while (iteration.want() != SubspaceIteration::Want::nothing) {
        std::vector<double> sum(static_cast<std::size_t>(iteration.sum_length()), 0.0);
        for (const auto& x : clients) {
            const auto part = (iteration.want() == SubspaceIteration::Want::projected
                                   ? projected_gram(x.view(), iteration.basis().view())
                                   : sketch_sum(x.view(), iteration.basis().view()))
                                  .take();
            for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += part[i];
        }
        iteration.take(sum);
    }
    return iteration.features().clone();
}

/// ||V1 V1^T - V2 V2^T|| / ||V1 V1^T|| of the features' row spaces.
double distance(const Features& a, const Features& b) {
    const auto x = support::rows_of(a.train);
    auto rest = support::rows_of(b.train);
    const auto across = product<double>(x.view(), rest.view(), Op::none, Op::transpose);
    multiply<double>(across.view(), Op::transpose, x.view(), Op::none, rest.view(), -1, 1);
    return std::sqrt(2 * squared_norm<double>(rest.view()) / static_cast<double>(x.rows()));
}

TEST(SecurePeer, GivesTheFeaturesOfSumsThatEverybodySees) {
    for (const char* graph : {"ring", "star", "complete"}) {
        for (const Sketch sketch : {Sketch::random, Sketch::gram}) {
            SecurePeers peers(people(5), subspace_job(4, sketch, 2), {.policy = false}, graph);
            const Features expected = plain(peers.clients, peers.job);
            peers.run();
            for (const auto& peer : peers.machines) {
                ASSERT_TRUE(peer->finished());
                EXPECT_LT(distance(peer->features(), expected), 1e-9) << graph;
                EXPECT_GT(peer->result().norm2, 0);
                EXPECT_EQ(peer->report().sums, sketch == Sketch::gram ? 1 : 3);
            }
            EXPECT_EQ(peers.masked.size(), 5U);
        }
    }
}

TEST(SecurePeer, ANeighbourSeesWhatIsUniform) {
    // All messages that carry masked numbers upwards, of peers with hugely different data.
    std::vector<double> seen;
    for (int round = 0; round < 4; ++round) {
        SecurePeers peers(people(3, 200), subspace_job(4, Sketch::gram), {.policy = false}, "star");
        peers.tamper = [&](Index, PeerMessage& message) {
            if (message.step != 2 || message.iteration != 0) return;
            const auto& state = std::get<State>(*message.body).get();
            for (std::size_t i = 0; i < state.size(); i += 2) seen.push_back(state[i]);
        };
        peers.run();
    }
    // 903 lower limbs of each of two leaves and four runs: chi-squared over 64 classes.
    ASSERT_EQ(seen.size(), 2U * 4U * 903U);
    std::vector<double> classes(64, 0.0);
    for (const double value : seen) classes[static_cast<std::size_t>(value / 0x1.0p26)] += 1;
    const double expected = static_cast<double>(seen.size()) / 64;
    double chi2 = 0;
    for (const double count : classes) chi2 += (count - expected) * (count - expected) / expected;
    EXPECT_LT(chi2, 120) << "63 degrees of freedom: one in 50,000";
    EXPECT_GT(chi2, 20);
}

TEST(SecurePeer, LimitsWhatTheSumsShowAsThePolicySays) {
    SecurePeers peers(people(4), subspace_job(10, Sketch::random, 3), {});
    peers.run();
    const ShieldReport report = peers.machines[0]->report();
    EXPECT_TRUE(report.policy);
    EXPECT_LE(report.directions, 9) << "one for ten of the 90 honest patients";
    EXPECT_FALSE(report.changes.empty());
    EXPECT_TRUE(report.clip.has_value());
}

TEST(SecurePeer, NoiseIsInTheSumsAndNobodyIsCounted) {
    SecurePeers peers(people(4), subspace_job(4, Sketch::gram), {.guarantee = PrivacyGuarantee{1, 1e-5}, .clip = 5.0});
    std::set<Index> lengths;
    peers.tamper = [&](Index, PeerMessage& message) {
        if (message.step > 0) lengths.insert(static_cast<Index>(std::get<State>(*message.body)->size()));
    };
    peers.run();
    EXPECT_EQ(lengths, (std::set<Index>{2 * 903})) << "the Gram matrix and no counts";
    ASSERT_TRUE(peers.machines[0]->report().noise);
    EXPECT_GT(distance(peers.machines[0]->features(), plain(peers.clients, peers.job)), 1e-3);
    EXPECT_LT(distance(peers.machines[0]->features(), peers.machines[3]->features()), 1e-12);
}

TEST(SecurePeer, NoticesAKeyThatItsOwnerHasNotSigned) {
    SecurePeers peers(people(4), subspace_job(4, Sketch::gram));
    peers.tamper = [](Index, PeerMessage& message) {
        if (message.step != 0 || message.iteration != 0) return;
        auto state = std::get<State>(*message.body).get();
        for (std::size_t i = 0; i < 4; ++i) {
            if (state[113 * i] > 0) state[113 * i + 112] = state[113 * i + 112] == 1 ? 2 : 1;
        }
        message.body = std::make_shared<const PeerBody>(release_public(state));
    };
    EXPECT_NE(peers.refusal().find("a key that it has not signed"), std::string::npos);
    EXPECT_TRUE(peers.masked.empty()) << "nothing was sent";
}

TEST(SecurePeer, NoticesASumThatWasChangedAndMessagesOutOfTurn) {
    SecurePeers peers(people(4), subspace_job(4, Sketch::gram));
    peers.tamper = [](Index, PeerMessage& message) {
        if (message.step != 2 || message.iteration != 0) return;
        auto state = std::get<State>(*message.body).get();
        state.front() += 0.5;
        message.body = std::make_shared<const PeerBody>(release_public(state));
    };
    EXPECT_NE(peers.refusal().find("masked sum"), std::string::npos);
    SecurePeers others(people(4), subspace_job(4, Sketch::gram));
    others.machines.push_back(std::make_unique<SecurePeer>(others.clients[0].view(), others.options(0)));
    others.machines[0]->start();
    const PeerMessage later{0, 5, 0, std::make_shared<const PeerBody>(release_public(std::vector<double>{1}))};
    EXPECT_THROW(others.machines[0]->receive(1, later), InputError);
    const PeerMessage basis{0, 0, 0, std::make_shared<const PeerBody>(Matrix<double>::identity(2))};
    EXPECT_THROW(others.machines[0]->receive(1, basis), InputError);
}

/// Whoever tells one peer another sum chooses that peer's next basis: the difference of two sums with all others' bases
/// alike would be that peer's own.
TEST(SecurePeer, MasksDoNotCancelWhereOneWasToldAnotherSum) {
    for (const Index step : {1, 2}) {
        SecurePeers peers(people(4), subspace_job(4, Sketch::random, 2), {.policy = false}, "star");
        const Features expected = plain(peers.clients, peers.job);
        Index lies = 0;
        peers.tamper = [&](Index from, PeerMessage& message) {
            // Down the tree, from the hub to one leaf: one record more, or one more in a number's last place.
            if (from != 0 || message.iteration != 1 || message.step != step || lies++ > 0) return;
            auto state = std::get<State>(*message.body).get();
            state.front() += 1.0 / 4;
            message.body = std::make_shared<const PeerBody>(release_public(state));
        };
        peers.run();
        ASSERT_GT(lies, 0);
        EXPECT_GT(distance(peers.machines[0]->features(), expected), 0.1) << "step " << step;
    }
}

TEST(SecurePeer, RefusesASmallCohortAndWhatItsSiteRefuses) {
    SecurePeers two(people(2), subspace_job(4, Sketch::gram), {.policy = false}, "complete");
    EXPECT_THROW(two.run(), InputError);
    SecurePeers peers(people(3), subspace_job(4, Sketch::gram), {.policy = false}, "complete");
    peers.refuses = true;
    EXPECT_NE(peers.refusal().find("this site's policy: too much"), std::string::npos);
    EXPECT_THROW(peers.machines[0]->result(), RunError);
    SecurePeers all(people(3), subspace_job(4, Sketch::gram), {.policy = false}, "complete");
    auto demanding = all.options(0);
    demanding.demands.min_cohort = 4;
    EXPECT_THROW(SecurePeer(all.clients[0].view(), std::move(demanding)), InputError);
}

TEST(SecurePeer, UnderABudgetEverybodyAddsUpModesAndFindsTheSame) {
    SecurePeers peers(people(4, 60), subspace_job(4), {.policy = false, .mu = 900.0}, "path");
    peers.run();
    const Features exact = plain(peers.clients, peers.job);
    for (const auto& machine : peers.machines) {
        ASSERT_TRUE(machine->finished());
        EXPECT_LT(distance(machine->features(), peers.machines[0]->features()), 1e-9);
        const ShieldReport report = machine->report();
        ASSERT_TRUE(report.error);
        EXPECT_EQ(report.mu, 900);
        const PersonalFit best = refit(peers.clients[0].view(), exact);
        EXPECT_LT(machine->result().error2, 1.3 * best.error2 + 0.02 * best.norm2);
    }
    EXPECT_EQ(peers.masked.size(), 4U);
}

TEST(SecurePeer, ABudgetIsRefusedBeforeTheFirstMaskedNumber) {
    SecurePeers peers(people(4, 60), subspace_job(4), {.policy = false, .mu = 900.0}, "path");
    peers.refuses = true;
    EXPECT_NE(peers.refusal().find("this site's policy"), std::string::npos);
    EXPECT_TRUE(peers.masked.empty());
}

}  // namespace
}  // namespace couplet
