#pragma once

#include <deque>
#include <functional>

#include "couplet/consensus/graph_builders.hpp"
#include "membership.hpp"
#include "peer_network.hpp"
#include "peer_test_support.hpp"

namespace couplet::net {

/// The kit of peer `self` of a, b, c, ... in a row, without a folder.
inline Kit row_kit(Index peers, Index self) {
    Kit kit;
    const Graph graph = path_graph(peers);
    for (Index k = 0; k < peers; ++k) kit.peers.push_back({std::string(1, static_cast<char>('a' + k)), ""});
    kit.links.assign(graph.edges().begin(), graph.edges().end());
    kit.graph = "path";
    kit.identity.federation = "row";
    kit.identity.name = kit.peers[static_cast<std::size_t>(self)].name;
    return kit;
}

/// Memberships of peers in a row of which some never come; everybody else hears at once.
class Row {
  public:
    Row(Index peers, Index there, Shape features = {6, 7}) {
        for (Index k = 0; k < there; ++k) {
            machines_.emplace_back(MembershipOptions{.graph = path_graph(peers),
                                                     .self = k,
                                                     .incarnation = static_cast<wire::Incarnation>(11 + k),
                                                     .features = features,
                                                     .rows = 4 + k,
                                                     .schema = fingerprint(Schema{.features = features}),
                                                     .link_deadline = 300ms,
                                                     .gather = 500ms,
                                                     .deadline = 3000ms},
                                   0ms);
        }
    }
    Membership& at(Index k) { return machines_[static_cast<std::size_t>(k)]; }

    void run(std::chrono::milliseconds time) {
        const auto until = now_ + time;
        for (; now_ < until; now_ += 10ms) {
            for (Index k = 0; k + 1 < static_cast<Index>(machines_.size()); ++k) {
                pass(k, k + 1);
                pass(k + 1, k);
            }
            for (Membership& machine : machines_) machine.tick(now_);
        }
    }
    /// Everybody has a result of the epoch that runs.
    void finish(const std::vector<wire::PeerReport>& reports) {
        for (std::size_t k = 0; k < machines_.size(); ++k) {
            machines_[k].finished(machines_[k].epoch().number, reports[k], now_);
        }
    }
    std::function<void(wire::PeerRecord&)> on_the_way = [](wire::PeerRecord&) {};

  private:
    void pass(Index from, Index to) {
        at(to).heard(from, static_cast<wire::Incarnation>(11 + from), now_);
        auto records = at(from).news(to, 100);
        for (wire::PeerRecord& record : records) on_the_way(record);
        std::erase_if(records, [&](const wire::PeerRecord& record) { return record.peer == to; });
        at(to).receive(records, now_);
    }

    std::deque<Membership> machines_;
    std::chrono::milliseconds now_{0};
};

}  // namespace couplet::net
