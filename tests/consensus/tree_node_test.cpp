#include "couplet/consensus/node.hpp"
#include "couplet/core/operations.hpp"
#include "support.hpp"

namespace couplet {
namespace {

/// A path 0 - 1 - 2 - 3 - 4: node 2 is the root, 1 and 3 its children.
std::unique_ptr<ConsensusNode> node_of_path(Index node, double value) {
    const ConsensusPlan plan = make_consensus_plan(path_graph(5), {.engine = ConsensusEngine::tree});
    return make_consensus_node(plan, node, {value});
}

Receipt deliver(ConsensusNode& node, Index from, Index iteration, std::vector<double> values) {
    return node.receive(from, iteration, values);
}

TEST(TreeNodeTest, SumsGoUpAndTheAverageComesDown) {
    const auto node = node_of_path(1, 2);
    EXPECT_TRUE(node->outgoing().empty());
    EXPECT_FALSE(node->ready());
    EXPECT_EQ(deliver(*node, 0, 0, {5}), Receipt::accepted);
    EXPECT_EQ(deliver(*node, 0, 0, {5}), Receipt::duplicate);
    node->advance();
    ASSERT_EQ(node->outgoing().size(), 1U);
    EXPECT_EQ(node->outgoing()[0].to, 2);
    EXPECT_EQ(node->outgoing()[0].iteration, 0);
    EXPECT_EQ(node->outgoing()[0].values[0], 7);
    EXPECT_EQ(deliver(*node, 2, 1, {4}), Receipt::accepted);
    EXPECT_EQ(deliver(*node, 2, 1, {4}), Receipt::duplicate);
    node->advance();
    EXPECT_TRUE(node->finished());
    EXPECT_EQ(node->result()[0], 4);
    ASSERT_EQ(node->outgoing().size(), 1U);
    EXPECT_EQ(node->outgoing()[0].to, 0);
    EXPECT_EQ(node->outgoing()[0].iteration, 1);
    EXPECT_EQ(node->previous_outgoing()[0].values[0], 7);
}

TEST(TreeNodeTest, RootDividesByTheNumberOfNodes) {
    const auto root = node_of_path(2, 1);
    deliver(*root, 3, 0, {10});
    EXPECT_FALSE(root->ready());
    deliver(*root, 1, 0, {4});
    root->advance();
    EXPECT_TRUE(root->finished());
    EXPECT_EQ(root->result()[0], 3);
    EXPECT_EQ(root->outgoing().size(), 2U);
    EXPECT_TRUE(root->previous_outgoing().empty());
}

TEST(TreeNodeTest, RefusesWrongMessages) {
    const auto node = node_of_path(1, 2);
    EXPECT_EQ(message_of([&] { deliver(*node, 3, 0, {1}); }),
              "message from node 4: neither parent nor child of node 2; expected a sender next to it in the tree");
    EXPECT_EQ(message_of([&] { deliver(*node, 0, 1, {1}); }),
              "message from node 1: iteration 1; expected 0, a child's sum");
    EXPECT_EQ(message_of([&] { deliver(*node, 2, 1, {1}); }),
              "message from node 3: an average before this node sent its sum; expected the average after the sum");
    EXPECT_EQ(message_of([&] { deliver(*node, 0, 0, {}); }), "message from node 1: 0 numbers; expected 1");
    EXPECT_THROW(node->advance(), RunError);
    EXPECT_THROW(node->result(), RunError);
}

TEST(TreeNodeTest, ChildrenAreAddedInOrderWheneverTheyCome) {
    const ConsensusPlan plan = make_consensus_plan(star_graph(4), {.engine = ConsensusEngine::tree});
    const auto root = make_consensus_node(plan, 0, {1});
    const OperationCount count;
    EXPECT_EQ(deliver(*root, 3, 0, {1e-17}), Receipt::accepted);
    EXPECT_EQ(deliver(*root, 3, 0, {5}), Receipt::duplicate);
    EXPECT_EQ(deliver(*root, 2, 0, {-1}), Receipt::accepted);
    EXPECT_FALSE(root->ready());
    EXPECT_TRUE(root->outgoing().empty());
    EXPECT_EQ(deliver(*root, 1, 0, {0}), Receipt::accepted);
    EXPECT_TRUE(root->ready());
    root->advance();
    // (1 + 0 - 1) + 1e-17: in another order the last would be lost.
    EXPECT_EQ(root->result()[0], 1e-17 / 4);
    EXPECT_EQ(count.total(), 3);
    EXPECT_EQ(root->outgoing().size(), 3U);
    EXPECT_EQ(message_of<RunError>([&] { root->advance(); }),
              "consensus node 1: asked to advance after the last iteration; expected a message from every neighbour "
              "first");
    const auto leaf = make_consensus_node(plan, 2, {3});
    EXPECT_TRUE(leaf->ready());
    EXPECT_TRUE(leaf->previous_outgoing().empty());
    leaf->advance();
    EXPECT_TRUE(leaf->previous_outgoing().empty());
    EXPECT_FALSE(leaf->ready());
    EXPECT_EQ(message_of([&] { deliver(*leaf, 0, 0, {1}); }),
              "message from node 1: iteration 0; expected 1, the average from the parent");
    deliver(*leaf, 0, 1, {7});
    EXPECT_TRUE(leaf->ready());
    leaf->advance();
    EXPECT_TRUE(leaf->outgoing().empty());
    EXPECT_EQ(leaf->result()[0], 7);
    ASSERT_EQ(leaf->previous_outgoing().size(), 1U);
    EXPECT_EQ(leaf->previous_outgoing()[0].values[0], 3);
}

}  // namespace
}  // namespace couplet
