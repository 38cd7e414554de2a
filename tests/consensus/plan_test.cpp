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

TEST(PlanTest, BoundsOfParametersAreThemselvesAllowed) {
    EXPECT_EQ(parse_consensus_iterations("0"), 0);
    EXPECT_EQ(parse_consensus_iterations("1000000"), 1'000'000);
    EXPECT_EQ(message_of([] { parse_consensus_iterations("1000001"); }),
              "consensus iterations: '1000001'; expected auto or a number from 0 to 1000000");
    const Graph graph = path_graph(3);
    EXPECT_EQ(make_consensus_plan(graph, {.engine = plain, .iterations = 0}).iterations, 0);
    EXPECT_EQ(make_consensus_plan(graph, {.engine = plain, .iterations = 1'000'000}).iterations, 1'000'000);
    for (const Index iterations : {Index{-1}, Index{1'000'001}}) {
        EXPECT_EQ(message_of([&] { make_consensus_plan(graph, {.engine = plain, .iterations = iterations}); }),
                  "consensus iterations: " + std::to_string(iterations) + "; expected 0 to 1000000");
    }
    EXPECT_EQ(make_consensus_plan(graph, {.engine = plain, .target = 0.999}).iterations, 1);
    EXPECT_GT(make_consensus_plan(graph, {.engine = plain, .target = 1e-300}).iterations, 1000);
    EXPECT_EQ(message_of([&] { make_consensus_plan(graph, {.target = 1}); }),
              "consensus target: 1; expected a number between 0 and 1");
}

TEST(PlanTest, IterationsAreTheLeastThatReachTheTarget) {
    EXPECT_EQ(plain_iterations(0, 0.1), 1);
    EXPECT_EQ(plain_iterations(0.5, 0.3), 2);
    EXPECT_EQ(plain_iterations(0.5, 0.2), 3);
    EXPECT_EQ(chebyshev_iterations(2, 2, 1e-9), 1);
    // T_2(2) = 7 and T_3(2) = 26.
    EXPECT_EQ(chebyshev_iterations(1, 3, 1.0 / 6.9), 2);
    EXPECT_EQ(chebyshev_iterations(1, 3, 1.0 / 7.1), 3);
    EXPECT_EQ(chebyshev_iterations(1, 3, 0.9), 1);
}

TEST(PlanTest, PredictionsAreThoseOfTheTheory) {
    const ConsensusPlan power = make_consensus_plan(path_graph(3), {.engine = plain, .iterations = 5});
    EXPECT_NEAR(power.lambda2, 2.0 / 3, 1e-12);
    EXPECT_NEAR(power.predicted_error, std::pow(2.0 / 3, 5), 1e-12);
    EXPECT_EQ(power.weights, (std::vector<std::vector<double>>{{1.0 / 3}, {1.0 / 3, 1.0 / 3}, {1.0 / 3}}));
    EXPECT_TRUE(power.steps.empty());
    // No error is predicted below K u.
    EXPECT_DOUBLE_EQ(make_consensus_plan(complete_graph(4), {.engine = plain, .iterations = 3}).predicted_error,
                     4 * std::ldexp(1, -53));
    EXPECT_DOUBLE_EQ(make_consensus_plan(complete_graph(4), {.engine = chebyshev}).predicted_error,
                     4 * std::ldexp(1, -53));
    EXPECT_EQ(make_consensus_plan(complete_graph(4), {.engine = chebyshev, .iterations = 0}).predicted_error, 1);
    EXPECT_DOUBLE_EQ(make_consensus_plan(path_graph(5), {.engine = tree}).predicted_error, 5 * std::ldexp(1, -53));
}

TEST(PlanTest, AutomaticTakesIterationsItIsGivenOnlyWhereFiniteTimeIsExact) {
    const Graph graph = random_graph(32, 0.1, 1);  // finite-time misses the target there
    const ConsensusPlan plan = make_consensus_plan(graph, {.iterations = 31});
    EXPECT_EQ(plan.engine, chebyshev);
    EXPECT_EQ(plan.iterations, 31);
    // A complete graph needs one factor, and Chebyshev as many: a tie is finite-time's.
    EXPECT_EQ(make_consensus_plan(complete_graph(5)).engine, finite_time);
    // Chebyshev is shorter where a coarse target will do.
    const ConsensusPlan coarse = make_consensus_plan(path_graph(12), {.target = 0.5});
    EXPECT_EQ(coarse.engine, chebyshev);
    EXPECT_LT(coarse.iterations, 11);
}

TEST(PlanTest, FiniteTimeIsAcceptedByItsTargetAlone) {
    const Graph graph = random_graph(32, 0.1, 1);
    const double error = make_consensus_plan(graph, {.engine = finite_time, .iterations = 31}).predicted_error;
    EXPECT_EQ(make_consensus_plan(graph, {.engine = finite_time, .target = 1.01 * error}).iterations, 31);
    EXPECT_THROW(make_consensus_plan(graph, {.engine = finite_time, .target = 0.99 * error}), InputError);
    // The automatic choice wants ten times less.
    const Graph ring = ring_graph(16);
    const double exact = make_consensus_plan(ring, {.engine = finite_time}).predicted_error;
    EXPECT_EQ(make_consensus_plan(ring, {.target = 10.1 * exact}).engine, finite_time);
    EXPECT_EQ(make_consensus_plan(ring, {.target = 9.9 * exact}).engine, chebyshev);
}

TEST(PlanTest, ATreeIsThatOfTheCentre) {
    const ConsensusPlan plan = make_consensus_plan(path_graph(6), {.engine = tree});
    EXPECT_EQ(plan.tree.root, 2);
    EXPECT_EQ(plan.iterations, 6);
    EXPECT_EQ(message_of([] { make_consensus_plan(path_graph(6), {.engine = tree, .iterations = 7}); }),
              "consensus iterations: 7; expected exactly 6 for tree on this graph, because it averages only when "
              "complete. Use auto, or the consensus chebyshev for a number of your choice.");
}

TEST(PlanTest, WeightsThatHardlyMixAreToldFromThoseThatDoNot) {
    // Eigenvalues 1 and 1 - 2a on two nodes, where rounding leaves 8 K u = 1.8e-15.
    const auto accepted = [](const std::string& weight, const std::string& rest) {
        const TextFile file(rest + " " + weight + "\n" + weight + " " + rest + "\n");
        try {
            make_consensus_plan(path_graph(2), {.engine = plain, .weights = "file:" + file.path(), .iterations = 3});
        } catch (const InputError&) {
            return false;
        }
        return true;
    };
    EXPECT_TRUE(accepted("0.000000000000004", "0.999999999999996"));
    EXPECT_FALSE(accepted("0.0000000000000003", "0.9999999999999997"));
}

TEST(PlanTest, ATargetThatIsJustReachedIsReached) {
    const Graph graph = random_graph(32, 0.1, 1);
    const double error = make_consensus_plan(graph, {.engine = finite_time, .iterations = 31}).predicted_error;
    EXPECT_EQ(make_consensus_plan(graph, {.engine = finite_time, .target = error}).iterations, 31);
}

}  // namespace
}  // namespace couplet
