#include "couplet/consensus/weights.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <vector>

#include "couplet/consensus/magic_square.hpp"
#include "couplet/consensus/text_file.hpp"
#include "couplet/core/error.hpp"
#include "couplet/linalg/eigen.hpp"

namespace couplet {
namespace {

constexpr double file_tolerance = 1e-9;

/// Sets the diagonal so that every row has the sum 1.
void complete_rows(Matrix<double>& w) {
    for (Index i = 0; i < w.rows(); ++i) {
        double others = 0;
        for (Index j = 0; j < w.cols(); ++j) others += i == j ? 0 : w(i, j);
        w(i, i) = 1 - others;
    }
}

std::string number_text(double value) {
    char text[32];
    std::snprintf(text, sizeof text, "%.10g", value);
    return text;
}

std::string entry_text(Index i, Index j, double value) {
    return "weight (" + std::to_string(i + 1) + ", " + std::to_string(j + 1) + ") = " + number_text(value);
}

Matrix<double> read_square(const std::string& path, Index nodes) {
    const std::vector<TextLine> lines = read_text_lines(path);
    const std::string size = std::to_string(nodes);
    if (static_cast<Index>(lines.size()) != nodes) {
        throw InputError({path, std::to_string(lines.size()) + " rows", size + " rows, one a node", ""});
    }
    Matrix<double> w(nodes, nodes);
    for (Index i = 0; i < nodes; ++i) {
        const TextLine& line = lines[i];
        if (static_cast<Index>(line.words.size()) != nodes) {
            throw InputError({place_in_file(path, line.number), std::to_string(line.words.size()) + " numbers",
                              size + ", one a node", ""});
        }
        for (Index j = 0; j < nodes; ++j) {
            if (!parse_number(line.words[j], w(i, j)) || !std::isfinite(w(i, j))) {
                throw InputError({place_in_file(path, line.number),
                                  "entry " + std::to_string(j + 1) + " is '" + line.words[j] + "'", "a finite number",
                                  ""});
            }
        }
    }
    return w;
}

void check_weights(const std::string& path, const Matrix<double>& w, const Graph& graph) {
    for (Index i = 0; i < w.rows(); ++i) {
        double sum = 0;
        for (Index j = 0; j < w.cols(); ++j) {
            sum += w(i, j);
            if (i != j && w(i, j) != 0 && !graph.has_edge(i, j)) {
                throw InputError({path, entry_text(i, j, w(i, j)), "0, because the graph does not link these nodes",
                                  "Add the link to the graph or clear the weight."});
            }
            if (std::abs(w(i, j) - w(j, i)) > file_tolerance) {
                throw InputError(
                    {path, entry_text(i, j, w(i, j)) + " but " + entry_text(j, i, w(j, i)), "a symmetric matrix", ""});
            }
        }
        if (!(std::abs(sum - 1) <= file_tolerance)) {
            throw InputError({path, "row " + std::to_string(i + 1) + " has the sum " + number_text(sum),
                              "1 within 1e-9", "Adjust the diagonal."});
        }
    }
}

}  // namespace

Matrix<double> paper_weights(const Graph& graph) {
    const Index k = graph.nodes();
    auto w = Matrix<double>::zeros(k, k);
    for (const Edge& edge : graph.edges()) w(edge.a, edge.b) = w(edge.b, edge.a) = 1 / static_cast<double>(k);
    for (Index i = 0; i < k; ++i) w(i, i) = static_cast<double>(k - graph.degree(i)) / static_cast<double>(k);
    return w;
}

Matrix<double> magic_weights(const Graph& graph) {
    const Index k = graph.nodes();
    if (!graph.is_complete()) {
        throw InputError({"weights magic",
                          std::to_string(graph.edges().size()) + " links between " + std::to_string(k) + " nodes",
                          "a complete graph, because a magic square has a weight for every two nodes",
                          "Use the graph complete, or the weights paper, metropolis or best-constant."});
    }
    if (k == 2) {
        throw InputError({"weights magic", "2 nodes", "1 or at least 3, because there is no magic square of size 2",
                          "Use the weights paper."});
    }
    const Matrix<double> m = magic_square(k);
    const double twice_sum = static_cast<double>(k) * static_cast<double>(k * k + 1);
    Matrix<double> w(k, k);
    for (Index i = 0; i < k; ++i) {
        for (Index j = 0; j < k; ++j) w(i, j) = (m(i, j) + m(j, i)) / twice_sum;
    }
    return w;
}

Matrix<double> metropolis_weights(const Graph& graph) {
    auto w = Matrix<double>::zeros(graph.nodes(), graph.nodes());
    for (const Edge& edge : graph.edges()) {
        const Index degree = std::max(graph.degree(edge.a), graph.degree(edge.b));
        w(edge.a, edge.b) = w(edge.b, edge.a) = 1 / static_cast<double>(1 + degree);
    }
    complete_rows(w);
    return w;
}

Matrix<double> best_constant_weights(const Graph& graph) {
    graph.require_connected();
    const Index k = graph.nodes();
    if (k == 1) return Matrix<double>::identity(1);
    const std::vector<double> l = TridiagonalForm(graph.laplacian()).values();
    const double weight = 2 / (l[k - 2] + l[0]);
    auto w = Matrix<double>::zeros(k, k);
    for (const Edge& edge : graph.edges()) w(edge.a, edge.b) = w(edge.b, edge.a) = weight;
    for (Index i = 0; i < k; ++i) w(i, i) = 1 - weight * static_cast<double>(graph.degree(i));
    return w;
}

Matrix<double> read_weights(const std::string& path, const Graph& graph) {
    Matrix<double> w = read_square(path, graph.nodes());
    check_weights(path, w, graph);
    for (Index i = 0; i < w.rows(); ++i) {
        for (Index j = 0; j < i; ++j) w(i, j) = w(j, i) = (w(i, j) + w(j, i)) / 2;
    }
    complete_rows(w);
    return w;
}

Matrix<double> make_weights(std::string_view spec, const Graph& graph) {
    if (spec == "paper") return paper_weights(graph);
    if (spec == "magic") return magic_weights(graph);
    if (spec == "metropolis") return metropolis_weights(graph);
    if (spec == "best-constant") return best_constant_weights(graph);
    if (spec.starts_with("file:")) return read_weights(std::string(spec.substr(5)), graph);
    throw InputError(
        {"weights", "'" + std::string(spec) + "'", "paper, magic, metropolis, best-constant or file:PATH", ""});
}

double second_modulus(MatrixView<const double> weights) {
    const Index k = weights.rows;
    if (k <= 1) return 0;
    Matrix<double> rest = Matrix<double>::copy(weights);
    for (Index i = 0; i < k; ++i) {
        for (Index j = 0; j < k; ++j) rest(i, j) -= 1 / static_cast<double>(k);
    }
    const std::vector<double> l = TridiagonalForm(rest).values();
    return std::max(std::abs(l.front()), std::abs(l.back()));
}

}  // namespace couplet
