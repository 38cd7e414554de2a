#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "couplet/consensus/graph.hpp"

namespace couplet {

Graph complete_graph(Index nodes);
Graph ring_graph(Index nodes);
/// The first node is the hub.
Graph star_graph(Index nodes);
Graph path_graph(Index nodes);
/// Rows of ceil(sqrt(K)) nodes, each linked to the right and down; the last row may be shorter.
Graph grid_graph(Index nodes);
/// A uniformly random spanning tree plus links drawn uniformly from the rest until round(density K(K-1)/2)
/// links are there. Always connected: a density too small for a tree gives the tree alone, K - 1 links. The
/// same seed gives the same graph. Throws InputError unless 0 < density <= 1.
Graph random_graph(Index nodes, double density, std::uint64_t seed);
/// The eight nodes of the paper's figure of a decentralized network.
Graph paper8_graph();
/// Edge list: two node numbers from 1 to `nodes` a line, '#' starts a comment. Errors name the line.
Graph read_graph(const std::string& path, Index nodes);

/// The graph a user names: complete, ring, star, path, grid, random:S, paper8 or file:PATH. Always connected:
/// throws InputError otherwise, naming the components. `seed` matters to random:S only.
Graph make_graph(std::string_view spec, Index nodes, std::uint64_t seed);

}  // namespace couplet
