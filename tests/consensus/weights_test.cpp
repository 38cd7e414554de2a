#include "couplet/consensus/weights.hpp"

#include "support.hpp"

namespace couplet {
namespace {

void expect_mixing(const Matrix<double>& w, const Graph& graph) {
    ASSERT_EQ(w.rows(), graph.nodes());
    ASSERT_EQ(w.cols(), graph.nodes());
    for (Index i = 0; i < w.rows(); ++i) {
        double sum = 0;
        for (Index j = 0; j < w.cols(); ++j) {
            sum += w(i, j);
            EXPECT_EQ(w(i, j), w(j, i));
            if (i != j && !graph.has_edge(i, j)) {
                EXPECT_EQ(w(i, j), 0);
            }
        }
        EXPECT_NEAR(sum, 1, 1e-14 * static_cast<double>(w.rows()));
    }
    EXPECT_LT(second_modulus(w), 1);
}

TEST(WeightsTest, AreSymmetricWithUnitSumsOnEveryGraph) {
    for (Index nodes = 1; nodes <= 33; ++nodes) {
        for (const auto& [name, graph] : graphs_of(nodes)) {
            for (const std::string spec : {"paper", "metropolis", "best-constant"}) {
                SCOPED_TRACE(spec + " on " + name);
                expect_mixing(make_weights(spec, graph), graph);
            }
            if (nodes != 2 && graph.is_complete()) expect_mixing(make_weights("magic", graph), graph);
        }
    }
}

TEST(WeightsTest, SecondModulusOfThePaper) {
    EXPECT_NEAR(second_modulus(paper_weights(paper8_graph())), 0.972, 5e-4);
    EXPECT_NEAR(second_modulus(magic_weights(complete_graph(4))), 0.329, 5e-4);
    EXPECT_NEAR(second_modulus(magic_weights(complete_graph(5))), 0.332, 5e-4);
    EXPECT_NEAR(second_modulus(paper_weights(complete_graph(7))), 0, 1e-15);
    EXPECT_EQ(second_modulus(Matrix<double>::identity(1)), 0);
    EXPECT_NEAR(second_modulus(Matrix<double>::identity(3)), 1, 1e-15);
}

TEST(WeightsTest, PaperWeightsAreEquationM) {
    const Matrix<double> w = paper_weights(paper8_graph());
    EXPECT_EQ(w(0, 1), 0.125);
    EXPECT_EQ(w(0, 3), 0);
    EXPECT_EQ(w(3, 3), 0.625);
}

TEST(WeightsTest, BestConstantHasTheLeastModulusOfConstantWeights) {
    for (const auto& [name, graph] : graphs_of(8)) {
        const double best = second_modulus(best_constant_weights(graph));
        EXPECT_LE(best, second_modulus(paper_weights(graph)) + 1e-14) << name;
    }
    // A star's hub has 4 of 5 nodes around it, l_2 = 1 and l_max = 5: a negative weight for itself.
    EXPECT_NEAR(best_constant_weights(star_graph(5))(0, 0), 1 - 4.0 * 2 / 6, 1e-14);
}

TEST(WeightsTest, MagicNeedsACompleteGraphOfOtherThanTwoNodes) {
    EXPECT_EQ(message_of([] { make_weights("magic", ring_graph(5)); }),
              "weights magic: 5 links between 5 nodes; expected a complete graph, because a magic square has "
              "a weight for "
              "every two nodes. Use the graph complete, or the weights paper, metropolis or best-constant.");
    EXPECT_EQ(message_of([] { make_weights("magic", complete_graph(2)); }),
              "weights magic: 2 nodes; expected 1 or at least 3, because there is no magic square of size 2. "
              "Use the weights "
              "paper.");
    EXPECT_EQ(make_weights("magic", Graph())(0, 0), 1);
    EXPECT_THROW(make_weights("uniform", Graph()), InputError);
}

TEST(WeightsTest, ReadsAFileAndRemovesItsRounding) {
    const TextFile file(
        "# path of three\n0.6666666667, 0.3333333333, 0\n0.3333333333 0.3333333334 0.3333333333\n0 "
        "0.3333333333 0.6666666667\n");
    const Matrix<double> w = make_weights("file:" + file.path(), path_graph(3));
    expect_mixing(w, path_graph(3));
    EXPECT_EQ(w(0, 1), 0.3333333333);
    EXPECT_NEAR(w(0, 0), 2.0 / 3, 1e-9);
}

TEST(WeightsTest, NegativeWeightsAreAllowedInAFile) {
    const TextFile file("1.25 -0.25 \n-0.25 1.25\n");
    EXPECT_EQ(read_weights(file.path(), path_graph(2))(0, 1), -0.25);
}

TEST(WeightsTest, FileErrorsNameTheEntry) {
    const auto failure = [](const std::string& text) {
        const TextFile file(text);
        const std::string message = message_of([&] { read_weights(file.path(), path_graph(3)); });
        return message.substr(std::min(message.size(), file.path().size()));
    };
    EXPECT_EQ(failure("1 0\n0 1\n"), ": 2 rows; expected 3 rows, one a node");
    EXPECT_EQ(failure("1 0 0\n0 1\n0 0 1\n"), ", line 2: 2 numbers; expected 3, one a node");
    EXPECT_EQ(failure("1 0 0\n0 nan 0\n0 0 1\n"), ", line 2: entry 2 is 'nan'; expected a finite number");
    EXPECT_EQ(failure("1 0 0\n0 1 0\n0 0 x\n"), ", line 3: entry 3 is 'x'; expected a finite number");
    EXPECT_EQ(failure(".5 .25 .25\n.25 .5 .25\n.25 .25 .5\n"),
              ": weight (1, 3) = 0.25; expected 0, because the graph does not link these nodes. Add the link "
              "to the graph or "
              "clear the weight.");
    EXPECT_EQ(failure(".5 .5 0\n.4 .2 .4\n0 .4 .6\n"),
              ": weight (1, 2) = 0.5 but weight (2, 1) = 0.4; expected a symmetric matrix");
    EXPECT_EQ(failure(".5 .5 0\n.5 .3 .3\n0 .3 .7\n"),
              ": row 2 has the sum 1.1; expected 1 within 1e-9. Adjust the diagonal.");
}

TEST(WeightsTest, NumbersOfSmallGraphs) {
    const Matrix<double> star = metropolis_weights(star_graph(4));
    EXPECT_DOUBLE_EQ(star(0, 1), 0.25);
    EXPECT_DOUBLE_EQ(star(0, 0), 0.25);
    EXPECT_DOUBLE_EQ(star(2, 2), 0.75);
    EXPECT_EQ(star(1, 2), 0);
    const Matrix<double> path = best_constant_weights(path_graph(3));  // eigenvalues 0, 1, 3
    EXPECT_NEAR(path(0, 1), 0.5, 1e-14);
    EXPECT_NEAR(path(1, 1), 0, 1e-14);
    EXPECT_NEAR(path(0, 0), 0.5, 1e-14);
    EXPECT_EQ(best_constant_weights(Graph())(0, 0), 1);
    // MATLAB's magic(3) = [8 1 6; 3 5 7; 4 9 2], row sum 15.
    const Matrix<double> magic = magic_weights(complete_graph(3));
    EXPECT_DOUBLE_EQ(magic(0, 1), (1 + 3) / 30.0);
    EXPECT_DOUBLE_EQ(magic(0, 2), (6 + 4) / 30.0);
    EXPECT_DOUBLE_EQ(magic(2, 2), 2 / 15.0);
    EXPECT_EQ(paper_weights(star_graph(4))(0, 0), 0.25);
    EXPECT_EQ(paper_weights(star_graph(4))(3, 3), 0.75);
}

TEST(WeightsTest, SecondModulusSeesNegativeEigenvalues) {
    Matrix<double> swap(2, 2);
    swap(0, 0) = swap(1, 1) = 0.1;
    swap(0, 1) = swap(1, 0) = 0.9;  // eigenvalues 1 and -0.8
    EXPECT_NEAR(second_modulus(swap), 0.8, 1e-14);
    swap(0, 0) = swap(1, 1) = 0.9;
    swap(0, 1) = swap(1, 0) = 0.1;
    EXPECT_NEAR(second_modulus(swap), 0.8, 1e-14);
}

/// A weight in one direction only is no link: it is refused, whichever of the two is missing.
TEST(WeightsTest, OneWayWeightsAreRefused) {
    for (const char* text : {"0.5 0.5 0\n0 0.5 0.5\n0 0.5 0.5\n", "1 0 0\n0.5 0 0.5\n0 0.5 0.5\n"}) {
        const TextFile file(text);
        const std::string message = message_of([&] { read_weights(file.path(), path_graph(3)); });
        EXPECT_NE(message.find("expected a symmetric matrix"), std::string::npos) << message;
    }
    const TextFile file("0.5 0 0.5\n0 1 0\n0 0 1\n");
    EXPECT_NE(message_of([&] { read_weights(file.path(), path_graph(3)); }).find("weight (1, 3) = 0.5; expected 0"),
              std::string::npos);
}

TEST(WeightsTest, FilesMayBeOffByRoundingOnly) {
    const auto failure = [](const std::string& text) -> std::string {
        const TextFile file(text);
        try {
            read_weights(file.path(), path_graph(2));
        } catch (const InputError& error) {
            return error.parts().expected;
        }
        return "";
    };
    EXPECT_EQ(failure("0.5000000009 0.5\n0.5 0.5\n"), "");
    EXPECT_EQ(failure("0.5000000011 0.5\n0.5 0.5\n"), "1 within 1e-9");
    EXPECT_EQ(failure("0.4999999989 0.5\n0.5 0.5\n"), "1 within 1e-9");
    EXPECT_EQ(failure("0.5 0.5\n0.5000000009 0.4999999991\n"), "");
    EXPECT_EQ(failure("0.5 0.5\n0.5000000011 0.4999999989\n"), "a symmetric matrix");
    const TextFile file("0.5 0.5\n0.5000000008 0.4999999992\n");
    const Matrix<double> w = read_weights(file.path(), path_graph(2));
    EXPECT_NEAR(w(0, 1), 0.5000000004, 1e-15);
    EXPECT_EQ(w(1, 0), w(0, 1));
    EXPECT_DOUBLE_EQ(w(0, 0), 1 - w(0, 1));
    EXPECT_EQ(message_of([] { make_weights("uniform", Graph()); }),
              "weights: 'uniform'; expected paper, magic, metropolis, best-constant or file:PATH");
}

}  // namespace
}  // namespace couplet
