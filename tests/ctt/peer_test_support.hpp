#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "couplet/consensus/graph_builders.hpp"
#include "couplet/ctt/peer.hpp"
#include "federations.hpp"
#include "release_gate.hpp"

/// Jobs and messages for the tests of peers.
namespace couplet::support {

inline ConsensusPlan plan_for(const Job& job, Index nodes) {
    return make_consensus_plan(make_graph(job.graph, nodes, job.seed), job.consensus);
}

inline Job printed(Index rank, const std::string& graph, const std::string& weights, Index iterations) {
    return resolve_job({.network = Network::decentralized,
                        .aggregate = Aggregate::average,
                        .rank = rank,
                        .eps2 = 0,
                        .graph = graph,
                        .weights = weights,
                        .iterations = iterations});
}

template <class T>
PeerMessage message_with(Index to, Index step, T body, Index iteration = 0) {
    return {to, step, iteration, std::make_shared<const PeerBody>(std::move(body))};
}

/// What a decoder may make of arrived numbers.
inline Released<std::vector<double>> state_of(std::size_t size, double value) {
    return ReleaseGate::release(std::vector<double>(size, value));
}

}  // namespace couplet::support
