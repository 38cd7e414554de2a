#pragma once

#include <string>
#include <vector>

#include "couplet/consensus/graph.hpp"
#include "couplet/net/kit.hpp"

namespace couplet::net {

/// Who the peers of a network are and how they are linked, as one of them sees it. Peers are places in the kit's list.
class PeerNetwork {
  public:
    /// The kit of a peer, which is in its own list.
    explicit PeerNetwork(const Kit& kit);

    const Kit& kit() const noexcept { return kit_; }
    const Graph& graph() const noexcept { return graph_; }
    Index size() const noexcept { return graph_.nodes(); }
    Index self() const noexcept { return self_; }
    const std::string& name(Index peer) const { return kit_.peers[static_cast<std::size_t>(peer)].name; }
    const std::string& own_name() const { return name(self_); }
    std::vector<std::string> names(const std::vector<Index>& peers) const;
    /// Of this peer, ascending.
    std::vector<Index> neighbours() const;
    /// All peers that are not in the list, which is ascending.
    std::vector<Index> others_than(const std::vector<Index>& peers) const;

  private:
    Kit kit_;
    Graph graph_;
    Index self_ = 0;
};

/// The links among members, who count anew in the order of the list.
Graph links_among(const std::vector<Index>& members, const std::vector<Edge>& links);

}  // namespace couplet::net
