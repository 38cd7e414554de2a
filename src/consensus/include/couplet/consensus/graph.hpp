#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "couplet/tensor/matrix.hpp"

namespace couplet {

/// An undirected link between two different nodes, a < b, counted from 0.
struct Edge {
    Index a = 0;
    Index b = 0;
    friend auto operator<=>(const Edge&, const Edge&) = default;
};

/// Breadth-first spanning tree. Among the possible parents the lowest-numbered node of the previous level
/// wins.
struct BfsTree {
    Index root = 0;
    std::vector<Index> parent;                 ///< -1 for the root
    std::vector<std::vector<Index>> children;  ///< ascending
    std::vector<Index> depth;                  ///< links to the root
    std::vector<Index> order;                  ///< nodes by depth: every parent before its children
    Index height = 0;                          ///< largest depth
};

/// An undirected simple graph of 1 to max_nodes nodes. Nodes count from 0 here and from 1 in files and
/// messages.
class Graph {
  public:
    /// Beyond this the dense eigenvalue problem behind every plan is out of reach, and sizes in files are
    /// hostile.
    static constexpr Index max_nodes = 10'000;

    /// Throws InputError unless 1 <= nodes <= max_nodes.
    static void require_size(Index nodes);

    /// One node, no links.
    Graph() : Graph(1, {}) {}
    /// Links may come in any order and direction; a repeated link counts once. Throws InputError for a node
    /// out of range or a link from a node to itself. The graph may be disconnected: see require_connected().
    Graph(Index nodes, std::vector<Edge> edges);

    Index nodes() const { return static_cast<Index>(neighbours_.size()); }
    /// Ascending.
    std::span<const Edge> edges() const { return edges_; }
    /// Ascending.
    std::span<const Index> neighbours(Index node) const { return neighbours_[static_cast<std::size_t>(node)]; }
    Index degree(Index node) const { return static_cast<Index>(neighbours(node).size()); }
    bool has_edge(Index a, Index b) const;
    /// Whether every two nodes are linked; true for one node.
    bool is_complete() const;
    /// Links over K(K-1)/2, the paper's connectivity S; 1 for one node.
    double density() const;

    /// Connected components, each ascending, ordered by their first node.
    std::vector<std::vector<Index>> components() const;
    bool is_connected() const { return components().size() == 1; }
    /// Throws InputError naming the components (nodes counted from 1) unless the graph is connected. `where`
    /// is what the error blames, for example the argument the graph came from.
    void require_connected(const std::string& where = "graph") const;

    /// Largest distance from the node; the graph must be connected.
    Index eccentricity(Index node) const;
    /// The node of least eccentricity, the lowest-numbered on a tie; the graph must be connected. O(K x
    /// links).
    Index centre() const;
    /// Eccentricity of the centre.
    Index radius() const { return eccentricity(centre()); }
    /// Throws InputError if the graph is disconnected.
    BfsTree bfs_tree(Index root) const;

    /// Degrees on the diagonal, -1 for every link.
    Matrix<double> laplacian() const;

  private:
    std::vector<Edge> edges_;
    std::vector<std::vector<Index>> neighbours_;
};

}  // namespace couplet
