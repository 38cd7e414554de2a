#include "couplet/consensus/plan.hpp"

#include <algorithm>
#include <cmath>

#include "couplet/consensus/runner.hpp"
#include "couplet/consensus/spectrum.hpp"
#include "support.hpp"

namespace couplet {
namespace {

using enum ConsensusEngine;

Index iterations_to(double target, ConsensusEngine engine, const std::string& weights = "paper") {
    return make_consensus_plan(paper8_graph(), {.engine = engine, .weights = weights, .target = target}).iterations;
}

TEST(PlanTest, NamesRoundTrip) {
    for (const std::string name : {"auto", "plain", "chebyshev", "finite-time", "tree"}) {
        EXPECT_EQ(to_string(parse_consensus_engine(name)), name);
    }
    EXPECT_EQ(message_of([] { parse_consensus_engine("gossip"); }),
              "consensus: 'gossip'; expected auto, plain, chebyshev, finite-time or tree");
    EXPECT_FALSE(parse_consensus_iterations("auto"));
    EXPECT_EQ(parse_consensus_iterations("12"), 12);
    for (const std::string text : {"", "-1", "1.5", "many", "1000001"}) {
        EXPECT_THROW(parse_consensus_iterations(text), InputError) << text;
    }
}

// ln(1e6)/ln(1/lambda2) is 485.8 with eq. M and 238.4 with Metropolis weights.
TEST(PlanTest, IterationsOnThePapersGraph) {
    EXPECT_EQ(iterations_to(1e-6, plain), 486);
    EXPECT_EQ(iterations_to(1e-6, plain, "metropolis"), 239);
    EXPECT_EQ(iterations_to(1e-6, chebyshev), 33);
    EXPECT_EQ(iterations_to(1e-6, finite_time), 7);
    EXPECT_EQ(iterations_to(1e-6, automatic), 7);
    EXPECT_EQ(iterations_to(1e-6, tree), 6);
    EXPECT_NEAR(make_consensus_plan(paper8_graph()).lambda2, 0.972, 5e-4);
}

TEST(PlanTest, PredictionBoundsTheMeasuredError) {
    for (const Index nodes : {2, 5, 8, 17}) {
        for (const auto& [name, graph] : graphs_of(nodes)) {
            for (const ConsensusEngine engine : {plain, chebyshev}) {
                for (const Index iterations : {0, 1, 2, 7, 20}) {
                    const ConsensusPlan plan = make_consensus_plan(graph, {.engine = engine, .iterations = iterations});
                    EXPECT_EQ(plan.iterations, iterations);
                    Matrix<double> states = random_states(nodes, 9, 2);
                    EXPECT_LE(run_consensus(plan, states).error, plan.predicted_error * (1 + 1e-9) + 1e-15)
                        << name << " " << to_string(engine) << " " << iterations;
                }
            }
        }
    }
}

TEST(PlanTest, SmallGraphs) {
    for (const ConsensusEngine engine : {automatic, plain, chebyshev, finite_time, tree}) {
        const ConsensusPlan one = make_consensus_plan(Graph(), {.engine = engine});
        EXPECT_EQ(one.iterations, 0);
        EXPECT_NE(one.engine, automatic);
        EXPECT_EQ(make_consensus_plan(path_graph(2), {.engine = engine}).iterations, engine == tree ? 2 : 1);
    }
    const ConsensusPlan full = make_consensus_plan(complete_graph(9));
    EXPECT_EQ(full.engine, finite_time);
    EXPECT_EQ(full.iterations, 1);
}

TEST(PlanTest, AutomaticFollowsTheDryRun) {
    for (std::uint64_t seed = 0; seed < 8; ++seed) {
        const Graph graph = random_graph(32, 0.1, seed);
        const ConsensusPlan plan = make_consensus_plan(graph);
        const auto factors = static_cast<Index>(distinct_laplacian_eigenvalues(graph).size());
        const ConsensusPlan complete = make_consensus_plan(graph, {.engine = finite_time, .iterations = factors});
        const Index chebyshev_count = make_consensus_plan(graph, {.engine = chebyshev}).iterations;
        const bool finite = complete.predicted_error <= 1e-11 && factors <= chebyshev_count;
        EXPECT_EQ(plan.engine, finite ? finite_time : chebyshev) << seed;
        Matrix<double> states = random_states(32, 11, seed);
        EXPECT_LE(run_consensus(plan, states).error, 1e-10) << seed;
    }
}

TEST(PlanTest, FiniteTimeIsStableOnRingsAndPathsOf256Nodes) {
    for (const Graph& graph : {ring_graph(256), path_graph(256)}) {
        const ConsensusPlan plan = make_consensus_plan(graph);
        EXPECT_EQ(plan.engine, finite_time);
        EXPECT_LE(plan.predicted_error, 1e-11);
    }
}

TEST(PlanTest, UnstableFiniteTimeIsRefusedUnlessItsIterationsAreAskedFor) {
    const Graph graph = random_graph(32, 0.1, 1);
    const std::string text = message_of([&] { make_consensus_plan(graph, {.engine = finite_time}); });
    EXPECT_NE(text.find("from rounding on this graph; expected at most the target 1e-10"), std::string::npos) << text;
    const ConsensusPlan plan = make_consensus_plan(graph, {.engine = finite_time, .iterations = 31});
    EXPECT_GT(plan.predicted_error, 1e-10);
}

TEST(PlanTest, ANumberOfIterationsIsKeptOrRefused) {
    const Graph graph = paper8_graph();
    EXPECT_EQ(message_of([&] { make_consensus_plan(graph, {.engine = finite_time, .iterations = 5}); }),
              "consensus iterations: 5; expected exactly 7 for finite-time on this graph, because it "
              "averages only when "
              "complete. Use auto, or the consensus chebyshev for a number of your choice.");
    EXPECT_THROW(make_consensus_plan(graph, {.engine = tree, .iterations = 5}), InputError);
    EXPECT_EQ(make_consensus_plan(graph, {.engine = tree, .iterations = 6}).iterations, 6);
    EXPECT_EQ(make_consensus_plan(graph, {.iterations = 7}).engine, finite_time);
    EXPECT_EQ(make_consensus_plan(graph, {.iterations = 8}).engine, chebyshev);
    EXPECT_EQ(make_consensus_plan(graph, {.iterations = 8}).iterations, 8);
    EXPECT_THROW(make_consensus_plan(graph, {.engine = plain, .iterations = -1}), InputError);
}

TEST(PlanTest, RefusesWhatCannotConverge) {
    const TextFile file("0 1\n1 0\n");
    EXPECT_EQ(
        message_of([&] { make_consensus_plan(path_graph(2), {.engine = plain, .weights = "file:" + file.path()}); }),
        "weights file:" + file.path() +
            ": a second eigenvalue of modulus 1; expected less than 1, or the states never agree. Use "
            "the weights "
            "metropolis or best-constant.");
    EXPECT_THROW(make_consensus_plan(Graph(3, {{0, 1}})), InputError);
    for (const double target : {0.0, 1.0, -1.0, std::nan("")}) {
        EXPECT_THROW(make_consensus_plan(path_graph(3), {.target = target}), InputError);
    }
    const std::string text = message_of([] { make_consensus_plan(path_graph(400), {.engine = plain}); });
    EXPECT_NE(text.find("expected at most 1000000. Use the consensus chebyshev or tree"), std::string::npos) << text;
}

}  // namespace
}  // namespace couplet
