#include "peer_network.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace couplet::net {

PeerNetwork::PeerNetwork(const Kit& kit) : kit_(kit), graph_(static_cast<Index>(kit.peers.size()), kit.links) {
    while (name(self_) != kit_.identity.name) ++self_;
}

std::vector<std::string> PeerNetwork::names(const std::vector<Index>& peers) const {
    std::vector<std::string> result;
    for (const Index k : peers) result.push_back(name(k));
    return result;
}

std::vector<Index> PeerNetwork::neighbours() const {
    const auto list = graph_.neighbours(self_);
    return {list.begin(), list.end()};
}

std::vector<Index> PeerNetwork::others_than(const std::vector<Index>& peers) const {
    std::vector<Index> others;
    for (Index k = 0; k < size(); ++k) {
        if (!std::binary_search(peers.begin(), peers.end(), k)) others.push_back(k);
    }
    return others;
}

Graph links_among(const std::vector<Index>& members, const std::vector<Edge>& links) {
    std::map<Index, Index> place;
    for (std::size_t i = 0; i < members.size(); ++i) place[members[i]] = static_cast<Index>(i);
    std::vector<Edge> edges;
    for (const Edge& edge : links) edges.push_back({place.at(edge.a), place.at(edge.b)});
    return Graph(static_cast<Index>(members.size()), std::move(edges));
}

}  // namespace couplet::net
