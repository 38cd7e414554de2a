#include "couplet/consensus/graph_builders.hpp"

#include <algorithm>
#include <cmath>

#include "couplet/consensus/text_file.hpp"
#include "couplet/core/error.hpp"
#include "couplet/core/random.hpp"

namespace couplet {
namespace {

constexpr std::string_view known_graphs = "complete, ring, star, path, grid, random:S, paper8 or file:PATH";

/// A random walk over all nodes; the first entry to each node is a link (Aldous 1990, Broder 1989: uniform
/// over trees).
std::vector<Edge> random_tree(Index nodes, Random& random) {
    std::vector<Edge> edges;
    std::vector<bool> seen(static_cast<std::size_t>(nodes), false);
    Index at = static_cast<Index>(random.below(static_cast<std::uint64_t>(nodes)));
    seen[at] = true;
    while (static_cast<Index>(edges.size()) < nodes - 1) {
        const auto next = static_cast<Index>(random.below(static_cast<std::uint64_t>(nodes)));
        if (!seen[next]) edges.push_back({std::min(at, next), std::max(at, next)});
        seen[next] = true;
        at = next;
    }
    std::sort(edges.begin(), edges.end());
    return edges;
}

Index parse_node(const std::string& path, const TextLine& line, const std::string& word, Index nodes) {
    long long value = 0;
    if (!parse_integer(word, value) || value < 1 || value > nodes) {
        throw InputError({place_in_file(path, line.number), "'" + word + "'",
                          "a node number from 1 to " + std::to_string(nodes), ""});
    }
    return value - 1;
}

}  // namespace

Graph complete_graph(Index nodes) {
    Graph::require_size(nodes);
    std::vector<Edge> edges;
    for (Index a = 0; a < nodes; ++a) {
        for (Index b = a + 1; b < nodes; ++b) edges.push_back({a, b});
    }
    return {nodes, std::move(edges)};
}

Graph ring_graph(Index nodes) {
    Graph::require_size(nodes);
    std::vector<Edge> edges;
    for (Index a = 0; a + 1 < nodes; ++a) edges.push_back({a, a + 1});
    if (nodes > 2) edges.push_back({0, nodes - 1});
    return {nodes, std::move(edges)};
}

Graph star_graph(Index nodes) {
    Graph::require_size(nodes);
    std::vector<Edge> edges;
    for (Index b = 1; b < nodes; ++b) edges.push_back({0, b});
    return {nodes, std::move(edges)};
}

Graph path_graph(Index nodes) {
    Graph::require_size(nodes);
    std::vector<Edge> edges;
    for (Index a = 0; a + 1 < nodes; ++a) edges.push_back({a, a + 1});
    return {nodes, std::move(edges)};
}

Graph grid_graph(Index nodes) {
    Graph::require_size(nodes);
    Index columns = 1;
    while (columns * columns < nodes) ++columns;
    std::vector<Edge> edges;
    for (Index a = 0; a < nodes; ++a) {
        if ((a + 1) % columns != 0 && a + 1 < nodes) edges.push_back({a, a + 1});
        if (a + columns < nodes) edges.push_back({a, a + columns});
    }
    return {nodes, std::move(edges)};
}

Graph random_graph(Index nodes, double density, std::uint64_t seed) {
    if (!(density > 0 && density <= 1)) {
        throw InputError({"graph random:S", "S = " + std::to_string(density), "0 < S <= 1", ""});
    }
    Graph::require_size(nodes);
    if (nodes == 1) return {};
    Random random(seed);
    const std::vector<Edge> tree = random_tree(nodes, random);
    const Index pairs = nodes * (nodes - 1) / 2;
    const auto wanted = static_cast<Index>(std::llround(density * static_cast<double>(pairs)));
    Index missing = std::max<Index>(0, wanted - (nodes - 1));
    Index left = pairs - (nodes - 1);
    std::vector<Edge> edges = tree;
    auto in_tree = tree.begin();
    // Selection sampling (Knuth, algorithm S): every set of `missing` pairs outside the tree is equally
    // likely.
    for (Index a = 0; a < nodes && missing > 0; ++a) {
        for (Index b = a + 1; b < nodes; ++b) {
            if (in_tree != tree.end() && *in_tree == Edge{a, b}) {
                ++in_tree;
                continue;
            }
            if (static_cast<Index>(random.below(static_cast<std::uint64_t>(left--))) >= missing) continue;
            edges.push_back({a, b});
            --missing;
        }
    }
    return {nodes, std::move(edges)};
}

Graph paper8_graph() { return {8, {{0, 1}, {0, 2}, {1, 3}, {2, 3}, {3, 4}, {4, 5}, {5, 6}, {5, 7}, {6, 7}}}; }

Graph read_graph(const std::string& path, Index nodes) {
    Graph::require_size(nodes);
    std::vector<Edge> edges;
    for (const TextLine& line : read_text_lines(path)) {
        if (line.words.size() != 2) {
            throw InputError({place_in_file(path, line.number), std::to_string(line.words.size()) + " words",
                              "two node numbers, one link a line", ""});
        }
        const Index a = parse_node(path, line, line.words[0], nodes);
        const Index b = parse_node(path, line, line.words[1], nodes);
        if (a == b) {
            throw InputError({place_in_file(path, line.number), "a link from node " + line.words[0] + " to itself",
                              "two different nodes", "Remove the line."});
        }
        edges.push_back({std::min(a, b), std::max(a, b)});
    }
    return {nodes, std::move(edges)};
}

Graph make_graph(std::string_view spec, Index nodes, std::uint64_t seed) {
    if (spec == "complete") return complete_graph(nodes);
    if (spec == "ring") return ring_graph(nodes);
    if (spec == "star") return star_graph(nodes);
    if (spec == "path") return path_graph(nodes);
    if (spec == "grid") return grid_graph(nodes);
    if (spec == "paper8") {
        if (nodes != 8) {
            throw InputError(
                {"graph paper8", std::to_string(nodes) + " nodes", "8", "Use another graph, for example grid."});
        }
        return paper8_graph();
    }
    if (spec.starts_with("random:")) {
        double density = 0;
        if (!parse_number(spec.substr(7), density)) {
            throw InputError({"graph " + std::string(spec), "'" + std::string(spec.substr(7)) + "'",
                              "a density above 0 and at most 1", "Write for example random:0.3."});
        }
        return random_graph(nodes, density, seed);
    }
    if (spec.starts_with("file:")) {
        const std::string path(spec.substr(5));
        Graph graph = read_graph(path, nodes);
        graph.require_connected(path);
        return graph;
    }
    throw InputError({"graph", "'" + std::string(spec) + "'", std::string(known_graphs), ""});
}

}  // namespace couplet
