#include "subspace_peer.hpp"

#include <deque>
#include <map>

#include "couplet/core/error.hpp"
#include "peer_test_support.hpp"

namespace couplet {
namespace {

using namespace support;

TEST(SubspacePeerTest, EarlyStateOfTheWrongSizeIsAsIfItNeverCame) {
    const auto data = population(2, {6, 6, 7}, 5, 0.7, 0.1, 4);
    const Job job = resolve_job({.network = Network::decentralized,
                                 .aggregate = Aggregate::subspace,
                                 .rank = 3,
                                 .sketch = Sketch::gram,
                                 .consensus = ConsensusEngine::finite_time});
    const auto plan = plan_for(job, 2);
    SubspacePeer peer(job, plan, 0, data[0].view());
    peer.receive(1, message_with(0, 0, state_of(7, 1.0)));
    EXPECT_FALSE(peer.start().empty());
    EXPECT_FALSE(peer.finished());
    peer.receive(1, message_with(0, 0, sketch_sum(data[1].view(), {})));
    EXPECT_TRUE(peer.finished());
}

Job sketched(ConsensusEngine engine, const std::string& graph) {
    return resolve_job({.network = Network::decentralized,
                        .aggregate = Aggregate::subspace,
                        .rank = 3,
                        .sketch = Sketch::random,
                        .passes = 2,
                        .graph = graph,
                        .consensus = engine});
}

/// Of a run in order, how many messages of a kind went from whom.
template <class T>
std::map<Index, Index> senders_of(const Job& job, const ConsensusPlan& plan, const Clients& data) {
    std::vector<std::unique_ptr<Peer>> peers;
    std::deque<std::pair<Index, PeerMessage>> queue;
    std::map<Index, Index> senders;
    const auto post = [&](Index from, std::vector<PeerMessage> messages) {
        for (auto& message : messages) {
            if (std::holds_alternative<T>(*message.body)) ++senders[from];
            queue.emplace_back(from, std::move(message));
        }
    };
    for (std::size_t k = 0; k < data.size(); ++k) {
        peers.push_back(std::make_unique<SubspacePeer>(job, plan, static_cast<Index>(k), data[k].view()));
    }
    for (std::size_t k = 0; k < data.size(); ++k) post(static_cast<Index>(k), peers[k]->start());
    while (!queue.empty()) {
        const auto [from, message] = std::move(queue.front());
        queue.pop_front();
        post(message.to, peers[static_cast<std::size_t>(message.to)]->receive(from, message));
    }
    for (const auto& peer : peers) EXPECT_TRUE(peer->finished());
    return senders;
}

TEST(SubspacePeerTest, FeaturesAreFloodedOnceAlongATreeAndToAllNeighboursOtherwise) {
    const auto data = population(4, {6, 6, 7}, 5, 0.7, 0.1, 4);
    const Job along_tree = sketched(ConsensusEngine::tree, "complete");
    const auto tree_plan = plan_for(along_tree, 4);
    Index sent = 0;
    for (const auto& [from, count] : senders_of<FeaturesMessage>(along_tree, tree_plan, data)) sent += count;
    EXPECT_EQ(sent, 3) << "every other node gets them from one";
    const Job to_all = sketched(ConsensusEngine::finite_time, "complete");
    // The first node to its three neighbours; those to all but the one they have them from.
    EXPECT_EQ(senders_of<FeaturesMessage>(to_all, plan_for(to_all, 4), data),
              (std::map<Index, Index>{{0, 3}, {1, 2}, {2, 2}, {3, 2}}));
}

TEST(SubspacePeerTest, ABasisHasTheSizeOfItsStep) {
    const auto data = population(2, {6, 6, 7}, 5, 0.7, 0.1, 4);
    const Job job = sketched(ConsensusEngine::finite_time, "complete");
    SubspacePeer peer(job, plan_for(job, 2), 1, data[1].view());
    peer.start();
    const Index width = SubspaceIteration(job, Shape{6, 7}).basis().cols();
    const auto offer = [&](Index rows, Index cols) {
        peer.receive(0, message_with(1, 1, Matrix<double>::zeros(rows, cols)));
    };
    EXPECT_THROW(offer(41, width), InputError);
    EXPECT_THROW(offer(42, width + 1), InputError);
    EXPECT_THROW(offer(42, 0), InputError);
    EXPECT_NO_THROW(offer(42, width));
}

TEST(SubspacePeerTest, KeepsTheEndsOfItsLatestConsensus) {
    const auto data = population(3, {6, 6, 7}, 5, 0.7, 0.1, 4);
    const Job job = sketched(ConsensusEngine::finite_time, "complete");
    const auto out = drive_peers(job, plan_for(job, 3), data);
    const auto ends = out.peers.front()->latest_consensus();
    ASSERT_TRUE(ends.has_value());
    ASSERT_FALSE(ends->initial.empty());
    for (std::size_t i = 0; i < ends->initial.size(); ++i) {
        double mean = 0;
        for (const auto& peer : out.peers) mean += peer->latest_consensus()->initial[i] / 3;
        EXPECT_NEAR(ends->result[i], mean, 1e-9 * (1 + std::abs(mean)));
    }
}

}  // namespace
}  // namespace couplet
