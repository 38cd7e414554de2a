#include "couplet/consensus/node.hpp"

#include <limits>

#include "couplet/consensus/traffic.hpp"
#include "machines.hpp"

namespace couplet {
namespace {

using enum ConsensusEngine;

TEST(NodeTest, MachinesEqualTheRunnerToTheBitOverABadNetwork) {
    for (const Index nodes : {1, 2, 3, 8, 13}) {
        for (const auto& [name, graph] : graphs_of(nodes)) {
            for (const ConsensusEngine engine : {plain, chebyshev, finite_time, tree}) {
                SCOPED_TRACE(name + " " + to_string(engine));
                const std::optional<Index> iterations = engine == plain ? std::optional<Index>(9) : std::nullopt;
                const ConsensusPlan plan = make_consensus_plan(
                    graph,
                    {.engine = engine, .weights = "metropolis", .iterations = nodes == 1 ? std::nullopt : iterations});
                for (std::uint64_t seed = 1; seed <= 3; ++seed) expect_machines_equal_runner(plan, seed);
            }
        }
    }
}

TEST(NodeTest, SendsWhatTheTrafficSays) {
    for (const ConsensusEngine engine : {chebyshev, finite_time, tree}) {
        const ConsensusPlan plan = make_consensus_plan(paper8_graph(), {.engine = engine});
        Machines machines(plan, random_states(8, 2, 1), 5);
        machines.run();
        EXPECT_EQ(machines.sent, consensus_traffic(plan, 2).messages_total);
        EXPECT_GT(machines.duplicates, 0);
    }
}

TEST(NodeTest, OneNodeIsFinishedAtOnce) {
    for (const ConsensusEngine engine : {automatic, plain, chebyshev, finite_time, tree}) {
        const auto node = make_consensus_node(make_consensus_plan(Graph(), {.engine = engine}), 0, {1, 2});
        EXPECT_TRUE(node->finished());
        EXPECT_FALSE(node->ready());
        EXPECT_TRUE(node->outgoing().empty());
        EXPECT_EQ(node->result()[1], 2);
    }
}

TEST(NodeTest, RefusesWrongStarts) {
    const ConsensusPlan plan = make_consensus_plan(path_graph(3));
    EXPECT_THROW(make_consensus_node(plan, 3, {1}), InputError);
    EXPECT_THROW(make_consensus_node(plan, -1, {1}), InputError);
    EXPECT_EQ(message_of([&] {
                  make_consensus_node(plan, 2, {1, std::numeric_limits<double>::infinity()});
              }),
              "initial state of node 3: number 2 is not finite; expected finite numbers. Check that node's "
              "data for NaN and "
              "infinities.");
}

TEST(NodeTest, EveryNodeOfThePlanCanBeMade) {
    const ConsensusPlan plan = make_consensus_plan(path_graph(3));
    EXPECT_EQ(make_consensus_node(plan, 0, {1})->node(), 0);
    EXPECT_EQ(make_consensus_node(plan, 2, {1})->length(), 1);
    EXPECT_EQ(message_of([&] { make_consensus_node(plan, 3, {1}); }), "consensus node: 4; expected 1 to 3");
    EXPECT_EQ(message_of([&] { make_consensus_node(plan, -1, {1}); }), "consensus node: 0; expected 1 to 3");
    const auto node = make_consensus_node(plan, 0, {1, 2});
    EXPECT_EQ(message_of<RunError>([&] { node->result(); }),
              "consensus node 1: asked for its result before the last iteration; expected a finished consensus");
    const std::vector<double> nan{1, std::numeric_limits<double>::quiet_NaN()};
    EXPECT_EQ(
        message_of([&] { node->receive(1, 0, nan); }),
        "message from node 2: number 2 is not finite; expected finite numbers. Check that node's data for NaN and "
        "infinities.");
}

}  // namespace
}  // namespace couplet
