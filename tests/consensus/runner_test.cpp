#include "couplet/consensus/runner.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

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

/// W x, by the definition.
Matrix<double> mixed(const Matrix<double>& w, const Matrix<double>& x) {
    auto result = Matrix<double>::zeros(x.rows(), x.cols());
    for (Index k = 0; k < x.rows(); ++k) {
        for (Index j = 0; j < x.rows(); ++j) {
            for (Index i = 0; i < x.cols(); ++i) result(k, i) += w(k, j) * x(j, i);
        }
    }
    return result;
}

void expect_near(const Matrix<double>& actual, const Matrix<double>& expected, double tolerance) {
    for (Index i = 0; i < actual.size(); ++i) EXPECT_NEAR(actual.data()[i], expected.data()[i], tolerance) << i;
}

TEST(RunnerTest, PlainIsThePowerOfTheWeightsOnEveryGraph) {
    for (const std::string spec : {"paper", "metropolis", "best-constant"}) {
        for (const auto& [name, graph] : graphs_of(6)) {
            const Matrix<double> w = make_weights(spec, graph);
            Matrix<double> states = random_states(6, 3, 8);
            Matrix<double> expected = Matrix<double>::copy(states);
            for (int t = 0; t < 4; ++t) expected = mixed(w, expected);
            run_consensus(make_consensus_plan(graph, {.engine = plain, .weights = spec, .iterations = 4}), states);
            SCOPED_TRACE(spec + " on " + name);
            expect_near(states, expected, 1e-13);
        }
    }
}

/// Eigenvalue 2 - 2 cos(pi i / n) of a path belongs to cos(pi i (j + 1/2) / n). The polynomial of t iterations is
/// T_t((l_max + l_2 - 2 l) / (l_max - l_2)) over the same at l = 0.
TEST(RunnerTest, ChebyshevIsItsPolynomialOfTheLaplacian) {
    constexpr Index n = 5;
    const double pi = std::acos(-1.0);
    const auto eigenvalue = [&](Index i) { return 2 - 2 * std::cos(pi * static_cast<double>(i) / n); };
    const double low = eigenvalue(1);
    const double high = eigenvalue(n - 1);
    const auto chebyshev_of = [](Index t, double x) {
        double before = 1;
        double now = x;
        if (t == 0) return before;
        for (Index s = 1; s < t; ++s) now = 2 * x * now - std::exchange(before, now);
        return now;
    };
    for (Index t = 0; t <= 6; ++t) {
        const ConsensusPlan plan = make_consensus_plan(path_graph(n), {.engine = chebyshev, .iterations = t});
        Matrix<double> states = random_states(n, 2, 3);
        auto expected = Matrix<double>::zeros(n, 2);
        for (Index i = 0; i < n; ++i) {
            const double scale = i == 0 ? 1.0 / n : 2.0 / n;
            const double factor = chebyshev_of(t, (high + low - 2 * eigenvalue(i)) / (high - low)) /
                                  chebyshev_of(t, (high + low) / (high - low));
            const auto vector = [&](Index j) {
                return std::cos(pi * static_cast<double>(i) * (static_cast<double>(j) + 0.5) / n);
            };
            for (Index c = 0; c < 2; ++c) {
                double part = 0;
                for (Index j = 0; j < n; ++j) part += vector(j) * states(j, c);
                for (Index j = 0; j < n; ++j) expected(j, c) += scale * factor * part * vector(j);
            }
        }
        run_consensus(plan, states);
        expect_near(states, expected, 1e-12);
        EXPECT_NEAR(plan.predicted_error, 1 / chebyshev_of(t, (high + low) / (high - low)), 1e-12);
    }
}

/// One factor I - L / l for every distinct eigenvalue l, in the order of the plan; also after some of them only.
TEST(RunnerTest, FiniteTimeIsItsProductOfFactors) {
    const Graph graph = star_graph(5);  // 1 and 5
    const Matrix<double> laplacian = graph.laplacian();
    ConsensusPlan plan = make_consensus_plan(graph, {.engine = finite_time});
    ASSERT_EQ(plan.iterations, 2);
    EXPECT_NEAR(plan.steps[0].gain, 1.0 / 5, 1e-14);
    EXPECT_NEAR(plan.steps[1].gain, 1.0, 1e-14);
    for (const Index t : {1, 2}) {
        plan.iterations = t;
        Matrix<double> states = random_states(5, 3, 3);
        Matrix<double> expected = Matrix<double>::copy(states);
        for (Index s = 0; s < t; ++s) {
            const Matrix<double> image = mixed(laplacian, expected);
            for (Index i = 0; i < expected.size(); ++i) expected.data()[i] -= image.data()[i] / (s == 0 ? 5 : 1);
        }
        run_consensus(plan, states);
        expect_near(states, expected, 1e-13);
    }
}

TEST(RunnerTest, ErrorsNameBothSizes) {
    const auto refusal = [](Index rows, Index cols) {
        const auto initial = Matrix<double>::zeros(2, 3);
        const auto states = Matrix<double>::zeros(rows, cols);
        return message_of([&] { consensus_error(initial, states); });
    };
    EXPECT_EQ(refusal(1, 3), "consensus error: 1x3 states; expected 2x3, as at the start");
    EXPECT_EQ(refusal(2, 4), "consensus error: 2x4 states; expected 2x3, as at the start");
    EXPECT_EQ(consensus_error(Matrix<double>::zeros(0, 3), Matrix<double>::zeros(0, 3)), 0);
    const ConsensusPlan plan = make_consensus_plan(path_graph(3));
    for (const Index rows : {2, 4}) {
        Matrix<double> states = random_states(rows, 2, 1);
        EXPECT_EQ(message_of([&] { run_consensus(plan, states); }),
                  "consensus states: " + std::to_string(rows) + " rows; expected 3, one a node");
    }
}

TEST(RunnerTest, MeasuresTheErrorThatItLeaves) {
    const ConsensusPlan plan = make_consensus_plan(path_graph(4), {.engine = plain, .iterations = 2});
    for (const Index cols : {3, 40'000}) {  // one block, and several
        const Matrix<double> initial = random_states(4, cols, 5);
        Matrix<double> states = Matrix<double>::copy(initial);
        const double error = run_consensus(plan, states).error;
        double start2 = 0;
        double left2 = 0;
        for (Index i = 0; i < cols; ++i) {
            double mean = 0;
            for (Index k = 0; k < 4; ++k) mean += initial(k, i) / 4;
            for (Index k = 0; k < 4; ++k) {
                start2 += initial(k, i) * initial(k, i);
                left2 += (states(k, i) - mean) * (states(k, i) - mean);
            }
        }
        EXPECT_NEAR(error, std::sqrt(left2 / start2), 1e-12);
        EXPECT_NEAR(consensus_error(initial, states), error, 1e-12);
    }
}

}  // namespace
}  // namespace couplet
