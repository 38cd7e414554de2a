#include "couplet/ctt/peer.hpp"

#include <deque>

#include "couplet/core/error.hpp"
#include "peer_test_support.hpp"

namespace couplet {
namespace {

using namespace support;

std::vector<JobOptions> all_kinds() {
    const auto base = [](Aggregate aggregate) {
        return JobOptions{.network = Network::decentralized, .aggregate = aggregate, .rank = 3};
    };
    std::vector<JobOptions> jobs;
    for (const char* graph : {"complete", "ring", "paper8", "star"}) {
        auto average = base(Aggregate::average);
        average.weights = "metropolis";
        average.iterations = 4;
        auto sketch = base(Aggregate::subspace);
        sketch.sketch = Sketch::random;
        auto gram = base(Aggregate::subspace);
        gram.sketch = Sketch::gram;
        auto tree = sketch;
        tree.consensus = ConsensusEngine::tree;
        auto certified = base(Aggregate::stack);
        certified.rank = std::nullopt;
        certified.eps = 0.1;
        for (auto job : {average, sketch, gram, tree, base(Aggregate::stack), certified}) {
            job.graph = graph;
            jobs.push_back(job);
        }
    }
    return jobs;
}

TEST(PeerTest, OrderRepetitionAndLatenessDoNotChangeABit) {
    const auto data = population(8, {6, 6, 7}, 5, 0.7, 0.1, 4);
    for (const auto& options : all_kinds()) {
        const Job job = resolve_job(options);
        const auto plan = plan_for(job, 8);
        const auto expected = drive_peers(job, plan, data);
        const std::string what = std::string(to_string(job.aggregate)) + " on " + job.graph;
        for (std::uint64_t seed = 1; seed <= 3; ++seed) {
            Random script(seed);
            const auto out = drive_peers(job, plan, data, &script);
            for (std::size_t k = 0; k < 8; ++k) {
                ASSERT_TRUE(out.peers[k]->finished()) << what;
                EXPECT_TRUE(same_bits(out.peers[k]->features(), expected.peers[k]->features())) << what;
                EXPECT_TRUE(same_bits<double>(out.peers[k]->result().personal.view(),
                                              expected.peers[k]->result().personal.view()))
                    << what;
            }
        }
    }
}

TEST(PeerTest, AllNodesEndWithTheSameBitsAtCentralizedAccuracy) {
    const auto data = population(8, {10, 6, 7}, 10, 0.85, 0.05, 4);
    const double centralized = centralized_rse(gather_rows(data), 5, 0.01);
    for (const char* graph : {"complete", "ring", "paper8", "path", "grid"}) {
        for (const auto aggregate : {Aggregate::subspace, Aggregate::stack}) {
            const Job job = resolve_job({.network = Network::decentralized,
                                         .aggregate = aggregate,
                                         .rank = 5,
                                         .sketch = Sketch::random,
                                         .graph = graph});
            const auto out = drive_peers(job, plan_for(job, 8), data);
            for (const auto& peer : out.peers) {
                EXPECT_TRUE(same_bits(peer->features(), out.peers.front()->features())) << graph;
                EXPECT_EQ(peer->rel_error_bound().has_value(), aggregate == Aggregate::stack);
            }
            EXPECT_LE(out.rse, 1.02 * centralized + 1e-4) << graph;
            if (aggregate == Aggregate::stack) {
                EXPECT_LE(std::sqrt(out.rse), *out.peers[3]->rel_error_bound() + 1e-12);
            }
        }
    }
}

TEST(PeerTest, OneNodeIsAFederation) {
    const auto data = population(1, {10, 6, 7}, 4, 0.7, 0.01, 4);
    for (const auto aggregate : {Aggregate::subspace, Aggregate::stack}) {
        const Job job = resolve_job({.network = Network::decentralized, .aggregate = aggregate, .rank = 4});
        const auto out = drive_peers(job, plan_for(job, 1), data);
        EXPECT_LE(out.rse, 1.02 * centralized_rse(data[0], 4, 0.01) + 1e-4);
        EXPECT_EQ(out.messages, 0);
    }
}

/// Runs the network, and before every delivery offers the receiver messages it must refuse.
void run_among_hostile_messages(const JobOptions& options, const Clients& data) {
    const Job job = resolve_job(options);
    const auto nodes = static_cast<Index>(data.size());
    const auto plan = plan_for(job, nodes);
    const auto expected = drive_peers(job, plan, data);
    std::vector<std::unique_ptr<Peer>> peers;
    std::deque<std::pair<Index, PeerMessage>> queue;
    for (Index k = 0; k < nodes; ++k)
        peers.push_back(make_peer(job, plan, k, data[static_cast<std::size_t>(k)].view()));
    for (Index k = 0; k < nodes; ++k) {
        for (auto& m : peers[static_cast<std::size_t>(k)]->start()) queue.emplace_back(k, std::move(m));
    }
    const Shape other{7, 6};
    Index refused = 0;
    while (!queue.empty()) {
        const auto [from, message] = std::move(queue.front());
        queue.pop_front();
        const Index to = message.to;
        Peer& peer = *peers[static_cast<std::size_t>(to)];
        const auto refuse = [&](Index sender, const PeerMessage& bad) {
            EXPECT_THROW(peer.receive(sender, bad), InputError);
            ++refused;
        };
        if (!peer.finished()) {
            refuse(to, message);  // itself
            refuse(-1, message);
            refuse(nodes, message);
            for (Index k = 0; k < nodes; ++k) {
                if (k != to && !plan.graph.has_edge(k, to)) refuse(k, message);
            }
            refuse(from, {to, message.step + 100, 0, message.body});
            refuse(from, {to, -1, 0, message.body});
            refuse(from, {to, message.step, 0, nullptr});
            refuse(from, message_with(to, message.step,
                                      FeaturesMessage{{random_train<double>({7, 6}, {2, 2, 1}), {1, 1}}, {}}));
            refuse(from,
                   message_with(to, message.step, MergeState{FeatureBlock(Matrix<double>::zeros(1, 42), other), {}}));
            refuse(from, message_with(to, message.step, Start{0, 0, std::nan("")}));
            refuse(from, message_with(to, message.step, Matrix<double>::zeros(41, 3)));
        }
        for (auto& m : peer.receive(from, message)) queue.emplace_back(to, std::move(m));
    }
    EXPECT_GT(refused, 0);
    for (std::size_t k = 0; k < data.size(); ++k) {
        ASSERT_TRUE(peers[k]->finished());
        EXPECT_TRUE(same_bits(peers[k]->features(), expected.peers[k]->features()));
    }
}

TEST(PeerTest, RefusedMessagesChangeNothing) {
    const auto data = population(8, {6, 6, 7}, 5, 0.7, 0.1, 4);
    for (const auto& options : all_kinds()) {
        if (options.graph == "paper8" || options.graph == "ring") run_among_hostile_messages(options, data);
    }
}

TEST(PeerTest, CountsRounds) {
    const auto rounds = [](const JobOptions& options) {
        const Job job = resolve_job(options);
        return count_rounds(job, plan_for(job, 8), Shape{6, 7});
    };
    JobOptions options{.network = Network::decentralized, .aggregate = Aggregate::stack, .rank = 3, .graph = "path"};
    EXPECT_EQ(rounds(options), 2 * 4);
    options = {.network = Network::decentralized, .aggregate = Aggregate::average, .rank = 3, .iterations = 5};
    EXPECT_EQ(rounds(options), 5);
    // A Gram matrix is one sum; one iteration on a complete graph, then one round of flooding.
    options = {.network = Network::decentralized,
               .aggregate = Aggregate::subspace,
               .rank = 3,
               .sketch = Sketch::gram,
               .consensus = ConsensusEngine::finite_time};
    EXPECT_EQ(rounds(options), 2);
}

TEST(PeerTest, CountsTheNumbersThatTravel) {
    EXPECT_EQ(count_numbers(state_of(7, 1.0)), 7);
    EXPECT_EQ(count_numbers(Matrix<double>(3, 4)), 12);
    EXPECT_EQ(count_numbers(Start{}), 3);
    EXPECT_EQ(count_numbers(MergeState{FeatureBlock(Matrix<double>::zeros(2, 6), {2, 3}), {}}), 12);
    EXPECT_EQ(count_numbers(FeaturesMessage{{random_train<double>({5, 6}, {3, 2, 1}), {}, true}, {}}),
              3 * 5 * 2 + 2 * 6);
    const Job job = resolve_job({});
    EXPECT_THROW(make_peer(job, ConsensusPlan{}, 0, random_tensor<double>({7}).view()), InputError);
}

}  // namespace
}  // namespace couplet
