#include <limits>

#include "couplet/consensus/node.hpp"
#include "couplet/core/operations.hpp"
#include "support.hpp"

namespace couplet {
namespace {

/// The middle node of a path of three, in a plain consensus of two iterations with weights 1/3.
std::unique_ptr<ConsensusNode> middle_node() {
    const ConsensusPlan plan =
        make_consensus_plan(path_graph(3), {.engine = ConsensusEngine::plain, .weights = "paper", .iterations = 2});
    return make_consensus_node(plan, 1, {3});
}

Receipt deliver(ConsensusNode& node, Index from, Index iteration, std::vector<double> values) {
    return node.receive(from, iteration, values);
}

TEST(GossipNodeTest, GoesThroughItsIterations) {
    const auto node = middle_node();
    ASSERT_EQ(node->outgoing().size(), 2U);
    EXPECT_EQ(node->outgoing()[0].to, 0);
    EXPECT_EQ(node->outgoing()[1].to, 2);
    EXPECT_EQ(node->outgoing()[1].iteration, 0);
    EXPECT_EQ(node->outgoing()[1].values[0], 3);
    EXPECT_TRUE(node->previous_outgoing().empty());
    EXPECT_EQ(deliver(*node, 2, 0, {9}), Receipt::accepted);
    EXPECT_FALSE(node->ready());
    EXPECT_EQ(deliver(*node, 0, 0, {6}), Receipt::accepted);
    EXPECT_TRUE(node->ready());
    node->advance();
    EXPECT_FALSE(node->finished());
    EXPECT_DOUBLE_EQ(node->outgoing()[0].values[0], 6);
    EXPECT_EQ(node->outgoing()[0].iteration, 1);
    EXPECT_EQ(node->previous_outgoing()[0].values[0], 3);
    EXPECT_EQ(node->previous_outgoing()[0].iteration, 0);
    deliver(*node, 0, 1, {6});
    deliver(*node, 2, 1, {6});
    node->advance();
    EXPECT_TRUE(node->finished());
    EXPECT_FALSE(node->ready());
    EXPECT_TRUE(node->outgoing().empty());
    EXPECT_DOUBLE_EQ(node->previous_outgoing()[1].values[0], 6);
    EXPECT_DOUBLE_EQ(node->result()[0], 6);
}

TEST(GossipNodeTest, KeepsEarlyMessagesAndIgnoresDuplicates) {
    const auto node = middle_node();
    EXPECT_EQ(deliver(*node, 0, 0, {6}), Receipt::accepted);
    EXPECT_EQ(deliver(*node, 0, 0, {7}), Receipt::duplicate);
    EXPECT_EQ(deliver(*node, 0, 1, {5}), Receipt::accepted);
    EXPECT_EQ(deliver(*node, 0, 1, {5}), Receipt::duplicate);
    EXPECT_FALSE(node->ready());
    deliver(*node, 2, 0, {9});
    node->advance();
    EXPECT_EQ(deliver(*node, 2, 0, {9}), Receipt::duplicate);
    deliver(*node, 2, 1, {7});
    node->advance();
    EXPECT_DOUBLE_EQ(node->result()[0], 6);
    EXPECT_EQ(deliver(*node, 2, 1, {7}), Receipt::duplicate);
}

TEST(GossipNodeTest, RefusesWrongMessagesAndStaysAsItWas) {
    const auto node = middle_node();
    EXPECT_EQ(message_of([&] { deliver(*node, 1, 0, {1}); }),
              "message from node 2: not a neighbour of node 2; expected a sender the graph links to it");
    EXPECT_EQ(message_of([&] { deliver(*node, 0, 0, {1, 2}); }), "message from node 1: 2 numbers; expected 1");
    EXPECT_EQ(message_of([&] { deliver(*node, 0, 2, {1}); }),
              "message from node 1: iteration 2; expected at most 1, because node 2 is in iteration 0");
    EXPECT_THROW(deliver(*node, 0, -1, {1}), InputError);
    EXPECT_THROW(deliver(*node, 0, 0, {std::numeric_limits<double>::quiet_NaN()}), InputError);
    EXPECT_EQ(deliver(*node, 0, 0, {1}), Receipt::accepted);
    EXPECT_EQ(message_of<RunError>([&] { node->advance(); }),
              "consensus node 2: asked to advance with messages missing; expected a message from every "
              "neighbour first");
    EXPECT_THROW(node->result(), RunError);
}

TEST(GossipNodeTest, KnowsWhatCanComeInItsLastIteration) {
    const auto node = middle_node();
    deliver(*node, 0, 0, {6});
    deliver(*node, 2, 0, {9});
    node->advance();
    EXPECT_EQ(message_of([&] { deliver(*node, 0, 2, {1}); }),
              "message from node 1: iteration 2; expected at most 1, because node 2 is in iteration 1");
    EXPECT_EQ(deliver(*node, 0, 1, {6}), Receipt::accepted);
    EXPECT_EQ(message_of([&] { deliver(*node, 2, -1, {1}); }),
              "message from node 3: iteration -1; expected at most 1, because node 2 is in iteration 1");
    EXPECT_EQ(message_of([&] { deliver(*node, 2, 1, {}); }), "message from node 3: 0 numbers; expected 1");
    deliver(*node, 2, 1, {6});
    node->advance();
    EXPECT_EQ(message_of<RunError>([&] { node->advance(); }),
              "consensus node 2: asked to advance after the last iteration; expected a message from every neighbour "
              "first");
}

TEST(GossipNodeTest, CountsItsOperations) {
    // Two numbers, two neighbours: 3 operations a number and neighbour, 2 for a step, 5 for one with momentum.
    const ConsensusPlan plan =
        make_consensus_plan(path_graph(3), {.engine = ConsensusEngine::chebyshev, .iterations = 2});
    const auto node = make_consensus_node(plan, 1, {1, 2});
    for (const double expected : {2.0 * (2 * 3 + 2), 2.0 * (2 * 3 + 5)}) {
        const OperationCount count;
        const Index iteration = node->outgoing().front().iteration;
        deliver(*node, 2, iteration, {4, 5});
        deliver(*node, 0, iteration, {6, 7});
        node->advance();
        EXPECT_EQ(count.total(), expected);
    }
}

}  // namespace
}  // namespace couplet
