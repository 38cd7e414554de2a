#include "couplet/consensus/runner.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "couplet/consensus/weights.hpp"
#include "couplet/core/threads.hpp"
#include "support.hpp"

namespace couplet {
namespace {

using enum ConsensusEngine;

std::vector<double> elements(const Matrix<double>& m) { return {m.data(), m.data() + m.size()}; }

TEST(RunnerTest, EveryEngineReachesTheMeanOnEveryGraph) {
    for (Index nodes = 1; nodes <= 33; ++nodes) {
        for (const auto& [name, graph] : graphs_of(nodes)) {
            for (const ConsensusEngine engine : {automatic, plain, chebyshev, tree}) {
                SCOPED_TRACE(name + " " + to_string(engine));
                const ConsensusPlan plan =
                    make_consensus_plan(graph, {.engine = engine, .weights = engine == plain ? "metropolis" : "paper"});
                const Matrix<double> initial = random_states(nodes, 5, 1);
                Matrix<double> states = Matrix<double>::copy(initial);
                const ConsensusRun run = run_consensus(plan, states);
                EXPECT_LE(run.error, 1e-10);
                EXPECT_NEAR(run.error, consensus_error(initial, states), 1e-20);
                EXPECT_EQ(run.iterations, plan.iterations);
                for (Index i = 0; i < 5; ++i) {
                    double mean = 0;
                    for (Index k = 0; k < nodes; ++k) mean += initial(k, i) / static_cast<double>(nodes);
                    for (Index k = 0; k < nodes; ++k) EXPECT_NEAR(states(k, i), mean, 1e-8);
                }
            }
        }
    }
}

TEST(RunnerTest, FiniteTimeIsExactAfterSevenIterationsOnThePapersGraph) {
    const ConsensusPlan plan = make_consensus_plan(paper8_graph(), {.engine = finite_time});
    Matrix<double> states = random_states(8, 40, 4);
    const ConsensusRun run = run_consensus(plan, states);
    EXPECT_EQ(run.iterations, 7);
    EXPECT_LT(run.error, 1e-14);
}

TEST(RunnerTest, PlainIsThePowerOfTheWeights) {
    const Matrix<double> w = magic_weights(complete_graph(5));
    const ConsensusPlan plan =
        make_consensus_plan(complete_graph(5), {.engine = plain, .weights = "magic", .iterations = 3});
    Matrix<double> states = random_states(5, 4, 8);
    Matrix<double> expected = Matrix<double>::copy(states);
    for (int t = 0; t < 3; ++t) {
        auto next = Matrix<double>::zeros(5, 4);
        for (Index k = 0; k < 5; ++k) {
            for (Index j = 0; j < 5; ++j) {
                for (Index i = 0; i < 4; ++i) next(k, i) += w(k, j) * expected(j, i);
            }
        }
        expected = std::move(next);
    }
    run_consensus(plan, states);
    for (Index i = 0; i < states.size(); ++i) EXPECT_NEAR(states.data()[i], expected.data()[i], 1e-14);
}

TEST(RunnerTest, PaperWeightsAreExactAfterOneIterationOnACompleteGraph) {
    Matrix<double> states = random_states(6, 3, 8);
    EXPECT_LT(run_consensus(make_consensus_plan(complete_graph(6), {.engine = plain, .iterations = 1}), states).error,
              1e-15);
}

TEST(RunnerTest, ColumnsAreIndependentOfBlocksThreadsAndStride) {
    const int threads = thread_count();
    for (const ConsensusEngine engine : {chebyshev, tree}) {
        const ConsensusPlan plan = make_consensus_plan(grid_graph(33), {.engine = engine});
        const Matrix<double> initial = random_states(33, 2500, 6);
        Matrix<double> whole = Matrix<double>::copy(initial);
        set_thread_count(1);
        const double error = run_consensus(plan, whole).error;
        Matrix<double> again = Matrix<double>::copy(initial);
        set_thread_count(3);
        EXPECT_EQ(run_consensus(plan, again).error, error);
        EXPECT_EQ(elements(again), elements(whole));
        Matrix<double> parts = Matrix<double>::copy(initial);
        for (Index begin = 0; begin < 2500; begin += 617) {
            run_consensus(plan, parts.view().cols_from(begin, std::min<Index>(617, 2500 - begin)));
        }
        EXPECT_EQ(elements(parts), elements(whole));
    }
    set_thread_count(threads);
}

TEST(RunnerTest, ACommonStateStaysToTheBit) {
    for (const ConsensusEngine engine : {plain, chebyshev, finite_time}) {
        Matrix<double> states(8, 3);
        for (Index k = 0; k < 8; ++k) {
            for (Index i = 0; i < 3; ++i) states(k, i) = 0.1 * static_cast<double>(i + 1);
        }
        const std::vector<double> before = elements(states);
        run_consensus(make_consensus_plan(paper8_graph(), {.engine = engine}), states);
        EXPECT_EQ(elements(states), before);
    }
}

TEST(RunnerTest, ErrorIsThePapers) {
    Matrix<double> initial(2, 1);
    initial(0, 0) = 3;
    initial(1, 0) = 4;
    EXPECT_DOUBLE_EQ(consensus_error(initial, initial), std::sqrt(0.5) / 5);
    const auto zero = Matrix<double>::zeros(2, 3);
    EXPECT_EQ(consensus_error(zero, zero), 0);
    EXPECT_THROW(consensus_error(initial, zero), InputError);
}

TEST(RunnerTest, RefusesWrongStatesUntouched) {
    const ConsensusPlan plan = make_consensus_plan(path_graph(3));
    Matrix<double> few(2, 3);
    EXPECT_THROW(run_consensus(plan, few), InputError);
    Matrix<double> states = random_states(3, 2, 1);
    states(1, 1) = std::numeric_limits<double>::quiet_NaN();
    const double kept = states(0, 0);
    EXPECT_EQ(message_of([&] { run_consensus(plan, states); }),
              "initial state of node 2: number 2 is not finite; expected finite numbers. Check that node's "
              "data for NaN and "
              "infinities.");
    EXPECT_EQ(states(0, 0), kept);
    Matrix<double> empty(3, 0);
    EXPECT_EQ(run_consensus(plan, empty).error, 0);
}

}  // namespace
}  // namespace couplet
