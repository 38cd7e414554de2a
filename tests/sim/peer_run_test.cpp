#include "couplet/consensus/graph_builders.hpp"
#include "couplet/core/error.hpp"
#include "couplet/sim/simulate.hpp"
#include "datasets.hpp"
#include "federations.hpp"

namespace couplet {
namespace {

using namespace support;

/// ALGORITHMS.md section 2: mean of 20 seeds, magic weights, L = 3; cost L R1 P.
TEST(PeerRunTest, PrintedMethodGivesTheMeasuredRse) {
    const Index ranks[] = {5, 10, 15, 20};
    const double expected[] = {0.206, 0.188, 0.180, 0.177};
    double rse[4] = {};
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        const MemorySource source(synthetic_clients("200x30x30", seed, 4));
        for (int i = 0; i < 4; ++i) {
            const auto result = simulate(source, {.job = {.network = Network::decentralized,
                                                          .aggregate = Aggregate::average,
                                                          .rank = ranks[i],
                                                          .weights = "magic",
                                                          .iterations = 3}});
            rse[i] += result.rse / 20;
            EXPECT_EQ(result.numbers_up_per_client, static_cast<double>(3 * ranks[i] * 900));
            EXPECT_EQ(result.numbers_total, static_cast<double>(12 * 3 * ranks[i] * 900));
            EXPECT_EQ(result.rounds, 3);
            EXPECT_EQ(result.consensus->iterations, 3);
            EXPECT_NEAR(result.consensus->lambda2, 0.329, 5e-4);
        }
    }
    for (int i = 0; i < 4; ++i) {
        EXPECT_NEAR(rse[i], expected[i], 0.1 * expected[i]) << "R1 = " << ranks[i];
    }
}

TEST(PeerRunTest, CentralizedAccuracyOnEveryGraph) {
    struct Case {
        const char* graph;
        Index nodes;
    };
    for (const auto& [graph, nodes] : {Case{"complete", 8}, {"ring", 8}, {"random:0.1", 32}, {"paper8", 8}}) {
        const auto clients = synthetic_clients("320x12x12", 2, nodes);
        const double centralized = centralized_rse(gather_rows(clients), 6, 0.01);
        for (const auto aggregate : {Aggregate::subspace, Aggregate::stack}) {
            const auto result = simulate(MemorySource(synthetic_clients("320x12x12", 2, nodes)),
                                         {.job = {.network = Network::decentralized,
                                                  .aggregate = aggregate,
                                                  .rank = 6,
                                                  .sketch = Sketch::random,
                                                  .seed = 4,
                                                  .graph = graph}});
            EXPECT_LE(result.rse, 1.02 * centralized + 1e-4) << graph << " " << to_string(aggregate);
            if (aggregate == Aggregate::subspace) {
                EXPECT_LT(result.consensus->error, 1e-9) << graph;
                // Sums up and down the tree, then what the first node floods along it.
                const Graph g = make_graph(graph, nodes, 4);
                const BfsTree tree = g.bfs_tree(g.centre());
                std::vector<Edge> edges;
                for (Index k = 0; k < nodes; ++k) {
                    const Index parent = tree.parent[static_cast<std::size_t>(k)];
                    if (parent >= 0) edges.push_back({std::min(k, parent), std::max(k, parent)});
                }
                EXPECT_EQ(result.consensus->iterations, 2 * tree.height);
                EXPECT_EQ(result.rounds,
                          4 * (result.consensus->iterations + Graph(nodes, std::move(edges)).eccentricity(0)));
            } else {
                EXPECT_LE(std::sqrt(result.rse), *result.rel_error_bound + 1e-12);
                EXPECT_EQ(result.rounds, 2 * make_graph(graph, nodes, 4).radius());
                EXPECT_FALSE(result.consensus);
            }
        }
    }
}

TEST(PeerRunTest, FiniteTimeTakesSevenIterationsOnThePapersGraph) {
    const auto run = [](ConsensusEngine engine) {
        return simulate(MemorySource(synthetic_clients("80x10x11", 2, 8)), {.job = {.network = Network::decentralized,
                                                                                    .aggregate = Aggregate::subspace,
                                                                                    .rank = 4,
                                                                                    .graph = "paper8",
                                                                                    .consensus = engine}});
    };
    const auto result = run(ConsensusEngine::finite_time);
    EXPECT_EQ(result.consensus->iterations, 7);
    EXPECT_LT(result.consensus->error, 1e-9);
    EXPECT_NEAR(result.consensus->lambda2, 0.972, 1e-3);
    EXPECT_EQ(run(ConsensusEngine::automatic).consensus->iterations, 6);
    EXPECT_LT(run(ConsensusEngine::tree).consensus->error, 1e-14);
    EXPECT_LT(run(ConsensusEngine::chebyshev).consensus->error, 1e-9);
}

TEST(PeerRunTest, StackAlongATreeCountsTheLinksThatCarry) {
    const auto result = simulate(
        MemorySource(population(8, {9, 5, 6}, 4, 0.7, 0.1, 2)),
        {.job = {.network = Network::decentralized, .aggregate = Aggregate::stack, .rank = 3, .graph = "complete"}});
    // Seven links, both ways; the features travel down each.
    const auto features = static_cast<double>(result.features->numbers());
    EXPECT_EQ(result.numbers_up_per_client, result.numbers_total / 14);
    EXPECT_GT(result.numbers_total, 7 * features);
    EXPECT_EQ(result.personal_ranks, std::vector<Index>(8, 3));
}

TEST(PeerRunTest, TheDefaultCostsWhatAStarCosts) {
    const auto run = [](Network network) {
        return simulate(MemorySource(synthetic_clients("400x30x30", 1, 8)),
                        {.job = {.network = network, .rank = 15, .graph = "paper8"}});
    };
    const double centralized = centralized_rse(gather_rows(synthetic_clients("400x30x30", 1, 8)), 15, 0.01);
    const auto peers = run(Network::decentralized);
    const auto star = run(Network::star);
    EXPECT_LE(peers.bytes_up, 1.5 * (star.bytes_up + star.bytes_down));
    EXPECT_LE(peers.rounds, 8);
    EXPECT_LE(peers.rse, 1.01 * centralized);
    EXPECT_LE(std::sqrt(peers.rse), *peers.rel_error_bound);
}

TEST(PeerRunTest, RefusesADisconnectedGraphAndTooManyIterations) {
    const auto refusal = [](JobOptions job) {
        job.network = Network::decentralized;
        job.rank = 2;
        if (job.consensus) job.aggregate = Aggregate::subspace;
        return message_of([&] { simulate(MemorySource(population(4, {5, 4}, 2)), {.job = job}); });
    };
    EXPECT_NE(refusal({.graph = "paper8"}), "");
    EXPECT_NE(refusal({.graph = "no-such-graph"}), "");
    EXPECT_NE(refusal({.consensus = ConsensusEngine::finite_time, .iterations = 9}), "");
}

}  // namespace
}  // namespace couplet
