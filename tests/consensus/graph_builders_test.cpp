#include "couplet/consensus/graph_builders.hpp"

#include <algorithm>
#include <cmath>

#include "support.hpp"

namespace couplet {
namespace {

std::vector<Edge> edges_of(const Graph& graph) { return {graph.edges().begin(), graph.edges().end()}; }

TEST(GraphBuildersTest, AllAreConnectedAndHaveTheirNumberOfLinks) {
    for (Index k = 1; k <= 33; ++k) {
        for (const auto& [name, graph] : graphs_of(k)) EXPECT_TRUE(graph.is_connected()) << name;
        EXPECT_EQ(complete_graph(k).edges().size(), static_cast<std::size_t>(k * (k - 1) / 2));
        EXPECT_EQ(ring_graph(k).edges().size(), static_cast<std::size_t>(k > 2 ? k : k - 1));
        EXPECT_EQ(star_graph(k).degree(0), k - 1);
        EXPECT_EQ(path_graph(k).edges().size(), static_cast<std::size_t>(k - 1));
    }
}

TEST(GraphBuildersTest, GridIsNearSquare) {
    EXPECT_EQ(edges_of(grid_graph(5)), (std::vector<Edge>{{0, 1}, {0, 3}, {1, 2}, {1, 4}, {3, 4}}));
    EXPECT_EQ(edges_of(grid_graph(4)), (std::vector<Edge>{{0, 1}, {0, 2}, {1, 3}, {2, 3}}));
    EXPECT_EQ(grid_graph(12).edges().size(), 17U);
}

TEST(GraphBuildersTest, RandomHasTheDensityAndTheSeed) {
    const Graph graph = random_graph(32, 0.3, 5);
    EXPECT_EQ(graph.edges().size(), 149U);
    EXPECT_EQ(edges_of(graph), edges_of(random_graph(32, 0.3, 5)));
    EXPECT_NE(edges_of(graph), edges_of(random_graph(32, 0.3, 6)));
    EXPECT_EQ(random_graph(32, 0.001, 5).edges().size(), 31U);
    EXPECT_TRUE(random_graph(32, 1, 5).is_complete());
    for (std::uint64_t seed = 0; seed < 50; ++seed) EXPECT_TRUE(random_graph(20, 0.1, seed).is_connected());
    for (const double density : {0.0, -1.0, 1.1, std::nan("")}) EXPECT_THROW(random_graph(4, density, 1), InputError);
}

TEST(GraphBuildersTest, Paper8) {
    EXPECT_EQ(edges_of(make_graph("paper8", 8, 0)),
              (std::vector<Edge>{{0, 1}, {0, 2}, {1, 3}, {2, 3}, {3, 4}, {4, 5}, {5, 6}, {5, 7}, {6, 7}}));
    EXPECT_EQ(message_of([] { make_graph("paper8", 7, 0); }),
              "graph paper8: 7 nodes; expected 8. Use another graph, for example grid.");
}

TEST(GraphBuildersTest, ReadsEdgeLists) {
    const TextFile file("# a triangle and a tail\n1 2\n3 2  # either direction\n1,3\n2 1\n\n4 3\n");
    EXPECT_EQ(edges_of(make_graph("file:" + file.path(), 4, 0)), (std::vector<Edge>{{0, 1}, {0, 2}, {1, 2}, {2, 3}}));
}

TEST(GraphBuildersTest, FileErrorsNameTheLine) {
    const auto failure = [](const std::string& text) {
        const TextFile file(text);
        const std::string message = message_of([&] { make_graph("file:" + file.path(), 3, 0); });
        return message.substr(std::min(message.size(), file.path().size()));
    };
    EXPECT_EQ(failure("1 2\n\n2 4\n"), ", line 3: '4'; expected a node number from 1 to 3");
    EXPECT_EQ(failure("0 1\n"), ", line 1: '0'; expected a node number from 1 to 3");
    EXPECT_EQ(failure("1 b\n"), ", line 1: 'b'; expected a node number from 1 to 3");
    EXPECT_EQ(failure("1 2 3\n"), ", line 1: 3 words; expected two node numbers, one link a line");
    EXPECT_EQ(failure("# x\n2 2\n"),
              ", line 2: a link from node 2 to itself; expected two different nodes. Remove the line.");
    EXPECT_EQ(failure("1 3\n"),
              ": disconnected, components {1, 3}, {2}; expected every node reachable from every other. "
              "Add links between the components.");
}

TEST(GraphBuildersTest, UnknownNamesListTheKnownOnes) {
    EXPECT_EQ(message_of([] { make_graph("torus", 4, 0); }),
              "graph: 'torus'; expected complete, ring, star, path, grid, random:S, paper8 or file:PATH");
    EXPECT_EQ(message_of([] { make_graph("random:x", 4, 0); }),
              "graph random:x: 'x'; expected a density above 0 and at most 1. Write for example random:0.3.");
    EXPECT_THROW(make_graph("ring", 0, 0), InputError);
    EXPECT_THROW(make_graph("complete", Graph::max_nodes + 1, 0), InputError);
    EXPECT_THROW(make_graph("ring", Index{1} << 62, 0), InputError);
}

TEST(GraphBuildersTest, SmallOnesLinkByLink) {
    EXPECT_EQ(edges_of(complete_graph(3)), (std::vector<Edge>{{0, 1}, {0, 2}, {1, 2}}));
    EXPECT_EQ(edges_of(ring_graph(4)), (std::vector<Edge>{{0, 1}, {0, 3}, {1, 2}, {2, 3}}));
    EXPECT_EQ(edges_of(ring_graph(2)), (std::vector<Edge>{{0, 1}}));
    EXPECT_EQ(edges_of(star_graph(4)), (std::vector<Edge>{{0, 1}, {0, 2}, {0, 3}}));
    EXPECT_EQ(edges_of(path_graph(3)), (std::vector<Edge>{{0, 1}, {1, 2}}));
    EXPECT_EQ(edges_of(grid_graph(7)),
              (std::vector<Edge>{{0, 1}, {0, 3}, {1, 2}, {1, 4}, {2, 5}, {3, 4}, {3, 6}, {4, 5}}));
    EXPECT_EQ(edges_of(make_graph("grid", 4, 0)), edges_of(grid_graph(4)));
    EXPECT_EQ(edges_of(make_graph("star", 4, 0)), edges_of(star_graph(4)));
    EXPECT_EQ(edges_of(make_graph("random:0.5", 9, 4)), edges_of(random_graph(9, 0.5, 4)));
}

/// Every link is in the graph with the same probability, whatever tree was drawn first.
TEST(GraphBuildersTest, RandomLinksAreAllAlike) {
    constexpr int seeds = 4000;
    std::vector<int> tree(6, 0);
    std::vector<int> four(6, 0);
    const std::vector<Edge> pairs = edges_of(complete_graph(4));
    for (std::uint64_t seed = 0; seed < seeds; ++seed) {
        const Graph sparse = random_graph(4, 0.01, seed);
        const Graph denser = random_graph(4, 4.0 / 6, seed);
        ASSERT_EQ(sparse.edges().size(), 3U);
        ASSERT_EQ(denser.edges().size(), 4U);
        for (std::size_t i = 0; i < 6; ++i) {
            tree[i] += sparse.has_edge(pairs[i].a, pairs[i].b) ? 1 : 0;
            four[i] += denser.has_edge(pairs[i].a, pairs[i].b) ? 1 : 0;
        }
    }
    for (std::size_t i = 0; i < 6; ++i) {
        EXPECT_NEAR(tree[i], seeds / 2, 160);  // five standard deviations
        EXPECT_NEAR(four[i], seeds * 4.0 / 6, 150);
    }
    EXPECT_EQ(random_graph(4, 0.75, 1).edges().size(), 5U);  // 4.5 rounded
    EXPECT_EQ(random_graph(1, 0.5, 1).nodes(), 1);
    EXPECT_EQ(message_of([] { random_graph(4, 1.5, 1); }), "graph random:S: S = 1.500000; expected 0 < S <= 1");
}

TEST(GraphBuildersTest, AFileMayNameTheLastNode) {
    const TextFile file("1 3\n3 2\n");
    EXPECT_EQ(edges_of(read_graph(file.path(), 3)), (std::vector<Edge>{{0, 2}, {1, 2}}));
}

}  // namespace
}  // namespace couplet
