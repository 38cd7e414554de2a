#pragma once

#include <string>

#include "couplet/sim/simulate.hpp"

namespace couplet {

/// The jobs that experiments compare. `graph` and `iterations` matter to peers only.
JobOptions printed_star(Index rank, double eps1 = 0.1, double eps2 = 0.05);
/// The printed star's features, to which every client fits its personal core again: what the average alone costs.
JobOptions printed_refit(Index rank);
/// The paper's weights: magic squares on a complete graph, its eq. M on others and for two nodes, where there is no
/// magic square.
JobOptions printed_peers(Index rank, Index clients, Index iterations, const std::string& graph = "complete");
JobOptions couplet_star(Index rank);
JobOptions couplet_peers(Index rank, const std::string& graph = "complete");

/// What a federation waits for, networks aside: its slowest client and the coordinator.
double federation_seconds(const SimulationResult& result) noexcept;

/// All bytes on all links.
double total_bytes(const SimulationResult& result) noexcept;

/// RSE of the printed decentralized method as the paper's tables seem to have it: the mean over the nodes j of the RSE
/// when Z_j[L - 1], cut by TT-SVD(eps2), serves all clients. The algorithm as printed gives node k its own Z_k[L]. At L
/// = 1 every client is thus measured with another client's features, hence the large first rows of the tables. Throws
/// InputError unless L >= 1, and as simulate() does.
double table_rse(const ClientSource& source, const JobOptions& job);

}  // namespace couplet
