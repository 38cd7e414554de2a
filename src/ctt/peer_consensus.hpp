#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "couplet/consensus/node.hpp"
#include "couplet/ctt/peer.hpp"
#include "peer_post.hpp"

namespace couplet {

/// The consensus steps of a peer, one after another: a node of the consensus engine that speaks in peer messages.
class PeerConsensus {
  public:
    /// The plan must outlive it.
    PeerConsensus(const ConsensusPlan& plan, Index node) : plan_(plan), number_(node) {}

    /// Opens a step of `post` with this node's state, sends it, and takes what came before. A state that came early
    /// and has the wrong size is as if it had not come.
    void begin(Released<std::vector<double>> state, PeerPost& post);
    /// A checked message of the step that is open; throws InputError, and changes nothing, as ConsensusNode.
    void receive(Index from, const PeerMessage& message, PeerPost& post);
    /// Whether the latest consensus is over.
    bool finished() const noexcept { return !node_; }
    /// Of the latest consensus; the result is the mean at this node.
    ConsensusEnds ends() const noexcept { return {initial_, result_}; }

    /// Throws InputError for a message that is no state, or one of a step after `step` and not of its first iteration.
    static void check(const PeerMessage& message, Index step);

  private:
    void advance(PeerPost& post);
    void send(PeerPost& post) const;

    const ConsensusPlan& plan_;
    Index number_;
    std::unique_ptr<ConsensusNode> node_;
    std::vector<double> initial_;
    std::vector<double> result_;
};

}  // namespace couplet
