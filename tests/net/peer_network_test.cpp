#include "peer_network.hpp"

#include "peer_members_support.hpp"

namespace couplet::net {
namespace {

TEST(PeerNetworkTest, KnowsItsPlaceItsNeighboursAndTheNamesOfAll) {
    const PeerNetwork network(row_kit(4, 2));
    EXPECT_EQ(network.size(), 4);
    EXPECT_EQ(network.self(), 2);
    EXPECT_EQ(network.own_name(), "c");
    EXPECT_EQ(network.name(3), "d");
    EXPECT_EQ(network.neighbours(), (std::vector<Index>{1, 3}));
    EXPECT_EQ(network.names({0, 2}), (std::vector<std::string>{"a", "c"}));
    EXPECT_EQ(network.others_than({0, 2}), (std::vector<Index>{1, 3}));
    EXPECT_TRUE(network.others_than({0, 1, 2, 3}).empty());
}

TEST(PeerNetworkTest, MembersCountAnew) {
    const Graph graph = links_among({0, 2, 5}, {{0, 2}, {2, 5}});
    EXPECT_EQ(graph.nodes(), 3);
    EXPECT_TRUE(graph.has_edge(0, 1));
    EXPECT_TRUE(graph.has_edge(1, 2));
    EXPECT_FALSE(graph.has_edge(0, 2));
}

}  // namespace
}  // namespace couplet::net
