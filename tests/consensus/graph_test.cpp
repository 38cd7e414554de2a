#include "couplet/consensus/graph.hpp"

#include <algorithm>

#include "support.hpp"

namespace couplet {
namespace {

TEST(GraphTest, LinksAreSortedAndSimple) {
    const Graph graph(4, {{3, 1}, {0, 2}, {1, 3}, {2, 1}, {0, 1}});
    EXPECT_EQ(std::vector<Edge>(graph.edges().begin(), graph.edges().end()),
              (std::vector<Edge>{{0, 1}, {0, 2}, {1, 2}, {1, 3}}));
    EXPECT_EQ(std::vector<Index>(graph.neighbours(1).begin(), graph.neighbours(1).end()),
              (std::vector<Index>{0, 2, 3}));
    EXPECT_EQ(graph.degree(3), 1);
    EXPECT_TRUE(graph.has_edge(3, 1));
    EXPECT_FALSE(graph.has_edge(3, 0));
    EXPECT_DOUBLE_EQ(graph.density(), 4.0 / 6.0);
}

TEST(GraphTest, RefusesWrongNodes) {
    EXPECT_THROW(Graph(0, {}), InputError);
    EXPECT_THROW(Graph(Graph::max_nodes + 1, {}), InputError);
    EXPECT_EQ(message_of([] { Graph(2, {{0, 2}}); }), "graph: a link 1-3; expected two different nodes from 1 to 2");
    EXPECT_THROW(Graph(2, {{1, 1}}), InputError);
    EXPECT_THROW(Graph(2, {{-1, 1}}), InputError);
}

TEST(GraphTest, DisconnectedGraphNamesItsComponents) {
    const Graph graph(6, {{0, 2}, {2, 5}, {1, 3}});
    EXPECT_FALSE(graph.is_connected());
    EXPECT_EQ(message_of([&] { graph.require_connected("links.txt"); }),
              "links.txt: disconnected, components {1, 3, 6}, {2, 4}, {5}; expected every node reachable "
              "from every other. "
              "Add links between the components.");
    EXPECT_THROW(graph.bfs_tree(0), InputError);
    const std::string many = message_of([] { Graph(100, {}).require_connected(); });
    EXPECT_NE(many.find("{8}, ... 100 components"), std::string::npos) << many;
}

TEST(GraphTest, CentreHasLeastEccentricity) {
    EXPECT_EQ(path_graph(5).centre(), 2);
    EXPECT_EQ(path_graph(5).radius(), 2);
    EXPECT_EQ(path_graph(4).centre(), 1);
    EXPECT_EQ(star_graph(9).centre(), 0);
    EXPECT_EQ(complete_graph(9).radius(), 1);
    EXPECT_EQ(Graph().centre(), 0);
    EXPECT_EQ(Graph().radius(), 0);
    const Graph paper = paper8_graph();
    EXPECT_EQ(paper.centre(), 3);
    EXPECT_EQ(paper.radius(), 3);
}

TEST(GraphTest, BfsTreeSpansWithShortestPaths) {
    for (Index nodes = 1; nodes <= 33; ++nodes) {
        for (const auto& [name, graph] : graphs_of(nodes)) {
            SCOPED_TRACE(name);
            const Index root = graph.centre();
            const BfsTree tree = graph.bfs_tree(root);
            EXPECT_EQ(tree.height, graph.radius());
            EXPECT_EQ(tree.order.front(), root);
            EXPECT_EQ(tree.parent[root], -1);
            Index links = 0;
            for (Index node = 0; node < nodes; ++node) {
                EXPECT_TRUE(std::is_sorted(tree.children[node].begin(), tree.children[node].end()));
                links += static_cast<Index>(tree.children[node].size());
                for (const Index child : tree.children[node]) {
                    EXPECT_EQ(tree.parent[child], node);
                    EXPECT_TRUE(graph.has_edge(child, node));
                    EXPECT_EQ(tree.depth[child], tree.depth[node] + 1);
                }
            }
            EXPECT_EQ(links, nodes - 1);
            for (std::size_t i = 1; i < tree.order.size(); ++i) {
                EXPECT_GE(tree.depth[tree.order[i]], tree.depth[tree.order[i - 1]]);
            }
        }
    }
}

TEST(GraphTest, LaplacianRowsSumToZero) {
    const Matrix<double> l = paper8_graph().laplacian();
    for (Index i = 0; i < 8; ++i) {
        double sum = 0;
        for (Index j = 0; j < 8; ++j) {
            sum += l(i, j);
            EXPECT_EQ(l(i, j), l(j, i));
        }
        EXPECT_EQ(sum, 0);
        EXPECT_EQ(l(i, i), static_cast<double>(paper8_graph().degree(i)));
    }
}

TEST(GraphTest, BoundsOfItsSize) {
    EXPECT_EQ(Graph(1, {}).nodes(), 1);
    EXPECT_EQ(Graph(Graph::max_nodes, {}).nodes(), 10'000);
    EXPECT_EQ(message_of([] { Graph(0, {}); }), "graph: 0 nodes; expected 1 to 10000");
    EXPECT_EQ(message_of([] { Graph(10'001, {}); }), "graph: 10001 nodes; expected 1 to 10000");
    EXPECT_EQ(message_of([] { Graph(3, {{2, 2}}); }), "graph: a link 3-3; expected two different nodes from 1 to 3");
    EXPECT_EQ(message_of([] { Graph(3, {{1, -1}}); }), "graph: a link 0-2; expected two different nodes from 1 to 3");
    EXPECT_EQ(Graph(3, {{0, 2}}).degree(2), 1);
    EXPECT_EQ(Graph().density(), 1);
    EXPECT_TRUE(Graph().is_complete());
    EXPECT_FALSE(path_graph(3).is_complete());
    EXPECT_TRUE(ring_graph(3).is_complete());
}

TEST(GraphTest, LinksAreSeenFromBothEnds) {
    for (const auto& [name, graph] : graphs_of(9)) {
        for (Index a = 0; a < 9; ++a) {
            for (Index b = 0; b < 9; ++b) EXPECT_EQ(graph.has_edge(a, b), graph.has_edge(b, a)) << name;
            const auto list = graph.neighbours(a);
            EXPECT_TRUE(std::is_sorted(list.begin(), list.end())) << name;
            for (const Index b : list) EXPECT_TRUE(graph.has_edge(b, a)) << name;
        }
    }
}

TEST(GraphTest, LongListsOfNodesAreShortened) {
    const auto parts = [](Index nodes, std::vector<Edge> edges) {
        return message_of([&] { Graph(nodes, std::move(edges)).require_connected(); });
    };
    std::vector<Edge> path;
    for (Index a = 0; a < 11; ++a) path.push_back({a, a + 1});
    EXPECT_NE(parts(13, path).find("{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, {13};"), std::string::npos);
    path.push_back({11, 12});
    EXPECT_NE(parts(14, path).find("11, 12, ... 13 nodes}, {14};"), std::string::npos) << parts(14, path);
    EXPECT_NE(parts(8, {}).find("{7}, {8};"), std::string::npos);
    EXPECT_NE(parts(9, {}).find("{7}, {8}, ... 9 components;"), std::string::npos) << parts(9, {});
}

TEST(GraphTest, DistancesAndParents) {
    const Graph graph(6, {{0, 1}, {1, 2}, {2, 3}, {0, 4}, {4, 3}, {3, 5}});
    EXPECT_EQ(graph.eccentricity(0), 4 - 1);
    EXPECT_EQ(graph.eccentricity(3), 2);
    EXPECT_EQ(graph.eccentricity(5), 3);
    EXPECT_EQ(graph.centre(), 2);
    EXPECT_EQ(graph.radius(), 2);
    const BfsTree tree = graph.bfs_tree(0);
    // Node 3 is two links from the root over 4 and three over 1 and 2.
    EXPECT_EQ(tree.parent, (std::vector<Index>{-1, 0, 1, 4, 0, 3}));
    EXPECT_EQ(tree.depth, (std::vector<Index>{0, 1, 2, 2, 1, 3}));
    EXPECT_EQ(tree.order, (std::vector<Index>{0, 1, 4, 2, 3, 5}));
    EXPECT_EQ(tree.height, 3);
    // The lower of two possible parents.
    EXPECT_EQ(ring_graph(4).bfs_tree(0).parent[2], 1);
    EXPECT_EQ(message_of([&] { graph.bfs_tree(6); }), "tree root: node 7; expected 1 to 6");
    EXPECT_EQ(message_of([&] { graph.bfs_tree(-1); }), "tree root: node 0; expected 1 to 6");
}

}  // namespace
}  // namespace couplet
