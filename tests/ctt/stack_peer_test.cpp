#include "stack_peer.hpp"

#include "couplet/core/error.hpp"
#include "peer_test_support.hpp"

namespace couplet {
namespace {

using namespace support;

TEST(StackPeerTest, CertifiedTreeKeepsItsBound) {
    Random random(3);
    for (std::uint64_t trial = 0; trial < 40; ++trial) {
        const Index nodes = 1 + static_cast<Index>(random.below(9));
        Clients data;
        for (Index k = 0; k < nodes; ++k) {
            data.push_back(population_client({1 + static_cast<Index>(random.below(6)), 4, 5}, 4, 0.7, 0.1, trial + 1,
                                             static_cast<std::uint64_t>(k)));
        }
        const double eps = 0.5 * std::pow(100.0, -random.uniform());
        const Job job = resolve_job({.network = Network::decentralized,
                                     .aggregate = Aggregate::stack,
                                     .eps = eps,
                                     .seed = trial,
                                     .graph = "random:0.3"});
        const auto out = drive_peers(job, plan_for(job, nodes), data);
        EXPECT_LE(std::sqrt(out.rse), *out.peers.front()->rel_error_bound() + 1e-12);
        EXPECT_LE(*out.peers.front()->rel_error_bound(), eps * (1 + 1e-9));
        // Totals and merges up, totals and features down.
        EXPECT_EQ(out.messages, 4 * (nodes - 1));
    }
}

/// Up a path of three: every node adds itself to what its child says.
TEST(StackPeerTest, TotalsAreSumsOverTheWholeSubtree) {
    Clients data;
    for (Index k = 0; k < 5; ++k)
        data.push_back(population_client({2 + k, 4, 5}, 4, 0.7, 0.1, 7, static_cast<std::uint64_t>(k)));
    const Job job =
        resolve_job({.network = Network::decentralized, .aggregate = Aggregate::stack, .eps = 0.1, .graph = "path"});
    const auto plan = plan_for(job, 5);
    const auto norm2 = [&](std::size_t k) { return squared_norm(std::as_const(data[k]).view().unfold(1)); };
    StackPeer leaf(job, plan, 0, data[0].view());
    const auto first = leaf.start();
    ASSERT_EQ(first.size(), 1U);
    const Start own = std::get<Start>(*first.front().body);
    EXPECT_EQ(own.clients, 1);
    EXPECT_EQ(own.rows, 2);
    EXPECT_EQ(own.norm2, norm2(0));
    StackPeer inner(job, plan, 1, data[1].view());
    EXPECT_TRUE(inner.start().empty());
    const auto second = inner.receive(0, first.front());
    ASSERT_EQ(second.size(), 1U);
    const Start sum = std::get<Start>(*second.front().body);
    EXPECT_EQ(sum.clients, 2);
    EXPECT_EQ(sum.rows, 5);
    EXPECT_EQ(sum.norm2, norm2(1) + norm2(0));
    EXPECT_EQ(second.front().to, 2);
}

TEST(StackPeerTest, ChildrenSpeakUpAndTheParentDown) {
    const auto data = population(5, {6, 4, 5}, 4, 0.7, 0.1, 7);
    const Job job =
        resolve_job({.network = Network::decentralized, .aggregate = Aggregate::stack, .eps = 0.1, .graph = "path"});
    // The centre of a path of five is its third node: the second has the first for a child.
    StackPeer peer(job, plan_for(job, 5), 1, data[1].view());
    peer.start();
    const Start totals{1, 6, 1.0};
    EXPECT_THROW(peer.receive(2, message_with(1, 0, totals)), InputError);
    EXPECT_THROW(peer.receive(0, message_with(1, 1, totals)), InputError);
    EXPECT_THROW(peer.receive(0, message_with(1, 0, Start{0, 6, 1.0})), InputError);
    EXPECT_THROW(peer.receive(0, message_with(1, 0, Start{1, 6, -1.0})), InputError);
    const auto state = [](Ledger ledger) {
        return MergeState{FeatureBlock(Matrix<double>::zeros(1, 20), {4, 5}), ledger};
    };
    EXPECT_THROW(peer.receive(0, message_with(1, 2, state({1, 6, 1.0, -1.0, 0, 0}))), InputError);
    EXPECT_THROW(peer.receive(0, message_with(1, 2, state({1, 6, 1.0, 0, 0, 0}))), InputError)
        << "a norm that no rows are there for";
    EXPECT_TRUE(peer.receive(0, message_with(1, 2, state({1, 6, 1.0, 1.0, 0, 0}))).empty()) << "early, so it waits";
    const auto up = peer.receive(0, message_with(1, 0, totals));
    ASSERT_EQ(up.size(), 1U);
    EXPECT_EQ(up.front().to, 2);
    // Down, and with the early merge at once up again.
    const auto after = peer.receive(2, message_with(1, 1, Start{5, 30, 5.0}));
    ASSERT_EQ(after.size(), 2U);
    EXPECT_EQ(after[0].to, 0);
    EXPECT_EQ(after[0].step, 1);
    EXPECT_EQ(after[1].to, 2);
    EXPECT_EQ(after[1].step, 2);
    EXPECT_TRUE(std::holds_alternative<MergeState>(*after[1].body));
    EXPECT_FALSE(peer.latest_consensus().has_value());
}

}  // namespace
}  // namespace couplet
