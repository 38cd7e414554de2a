#include "couplet/consensus/graph.hpp"

#include <algorithm>

#include "couplet/core/error.hpp"

namespace couplet {
namespace {

/// Distances from `root`; -1 where unreachable. `order` receives the nodes as they are reached.
std::vector<Index> distances(const Graph& graph, Index root, std::vector<Index>& order) {
    std::vector<Index> depth(static_cast<std::size_t>(graph.nodes()), -1);
    order.assign(1, root);
    depth[root] = 0;
    for (std::size_t head = 0; head < order.size(); ++head) {
        const Index node = order[head];
        for (const Index next : graph.neighbours(node)) {
            if (depth[next] >= 0) continue;
            depth[next] = depth[node] + 1;
            order.push_back(next);
        }
    }
    return depth;
}

/// "{1, 2, 4}", long lists shortened.
std::string name_component(const std::vector<Index>& component) {
    constexpr std::size_t shown = 12;
    std::string text = "{";
    for (std::size_t i = 0; i < std::min(component.size(), shown); ++i) {
        text += (i == 0 ? "" : ", ") + std::to_string(component[i] + 1);
    }
    if (component.size() > shown) text += ", ... " + std::to_string(component.size()) + " nodes";
    return text + "}";
}

}  // namespace

Graph::Graph(Index nodes, std::vector<Edge> edges) : edges_(std::move(edges)) {
    require_size(nodes);
    for (Edge& edge : edges_) {
        if (edge.a > edge.b) std::swap(edge.a, edge.b);
        if (edge.a < 0 || edge.b >= nodes || edge.a == edge.b) {
            throw InputError({"graph", "a link " + std::to_string(edge.a + 1) + "-" + std::to_string(edge.b + 1),
                              "two different nodes from 1 to " + std::to_string(nodes), ""});
        }
    }
    std::sort(edges_.begin(), edges_.end());
    edges_.erase(std::unique(edges_.begin(), edges_.end()), edges_.end());
    neighbours_.resize(static_cast<std::size_t>(nodes));
    // Ascending links reach a node first from its lower, then from its higher neighbours, both in order.
    for (const Edge& edge : edges_) neighbours_[edge.b].push_back(edge.a);
    for (const Edge& edge : edges_) neighbours_[edge.a].push_back(edge.b);
}

void Graph::require_size(Index nodes) {
    if (nodes < 1 || nodes > max_nodes) {
        throw InputError({"graph", std::to_string(nodes) + " nodes", "1 to " + std::to_string(max_nodes), ""});
    }
}

bool Graph::has_edge(Index a, Index b) const {
    const auto list = neighbours(a);
    return std::binary_search(list.begin(), list.end(), b);
}

bool Graph::is_complete() const { return static_cast<Index>(edges_.size()) == nodes() * (nodes() - 1) / 2; }

double Graph::density() const {
    if (nodes() == 1) return 1;
    return static_cast<double>(edges_.size()) / (static_cast<double>(nodes()) * static_cast<double>(nodes() - 1) / 2);
}

std::vector<std::vector<Index>> Graph::components() const {
    std::vector<std::vector<Index>> result;
    std::vector<bool> seen(static_cast<std::size_t>(nodes()), false);
    for (Index node = 0; node < nodes(); ++node) {
        if (seen[node]) continue;
        std::vector<Index> reached{node};
        seen[node] = true;
        for (std::size_t head = 0; head < reached.size(); ++head) {
            for (const Index next : neighbours(reached[head])) {
                if (!seen[next]) reached.push_back(next);
                seen[next] = true;
            }
        }
        std::sort(reached.begin(), reached.end());
        result.push_back(std::move(reached));
    }
    return result;
}

void Graph::require_connected(const std::string& where) const {
    const auto parts = components();
    if (parts.size() == 1) return;
    constexpr std::size_t shown = 8;
    std::string found = "disconnected, components ";
    for (std::size_t i = 0; i < std::min(parts.size(), shown); ++i) {
        found += (i == 0 ? "" : ", ") + name_component(parts[i]);
    }
    if (parts.size() > shown) found += ", ... " + std::to_string(parts.size()) + " components";
    throw InputError({where, found, "every node reachable from every other", "Add links between the components."});
}

Index Graph::eccentricity(Index node) const {
    std::vector<Index> order;
    const std::vector<Index> depth = distances(*this, node, order);
    return depth[order.back()];
}

Index Graph::centre() const {
    Index best = 0;
    Index least = nodes();
    for (Index node = 0; node < nodes() && least > 1; ++node) {
        const Index value = eccentricity(node);
        if (value < least) {
            least = value;
            best = node;
        }
    }
    return best;
}

BfsTree Graph::bfs_tree(Index root) const {
    if (root < 0 || root >= nodes()) {
        throw InputError({"tree root", "node " + std::to_string(root + 1), "1 to " + std::to_string(nodes()), ""});
    }
    require_connected();
    BfsTree tree;
    tree.root = root;
    tree.depth = distances(*this, root, tree.order);
    std::sort(tree.order.begin(), tree.order.end(),
              [&](Index a, Index b) { return tree.depth[a] != tree.depth[b] ? tree.depth[a] < tree.depth[b] : a < b; });
    tree.parent.assign(static_cast<std::size_t>(nodes()), -1);
    tree.children.resize(static_cast<std::size_t>(nodes()));
    for (Index node = 0; node < nodes(); ++node) {
        if (node == root) continue;
        const auto list = neighbours(node);
        tree.parent[node] =
            *std::find_if(list.begin(), list.end(), [&](Index j) { return tree.depth[j] == tree.depth[node] - 1; });
        tree.children[tree.parent[node]].push_back(node);
    }
    tree.height = tree.depth[tree.order.back()];
    return tree;
}

Matrix<double> Graph::laplacian() const {
    auto result = Matrix<double>::zeros(nodes(), nodes());
    for (Index node = 0; node < nodes(); ++node) result(node, node) = static_cast<double>(degree(node));
    for (const Edge& edge : edges_) result(edge.a, edge.b) = result(edge.b, edge.a) = -1;
    return result;
}

}  // namespace couplet
