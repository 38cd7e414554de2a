#pragma once

#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "couplet/ctt/peer.hpp"

namespace couplet {

/// Makes a body that several messages can share.
template <class T>
std::shared_ptr<const PeerBody> body_of(T value) {
    return std::make_shared<const PeerBody>(std::move(value));
}

/// The step that a peer is in, what it has to send, and what came for later steps.
class PeerPost {
  public:
    /// Of the messages of one step, those that came before it, by sender.
    using Early = std::map<Index, PeerMessage>;

    /// -1 before the first next_step().
    Index step() const noexcept { return step_; }
    /// Opens the next step and returns what came for it already; of every sender the first message.
    Early next_step();
    void keep(Index from, const PeerMessage& message);

    /// A message of the step that is open.
    void send(Index to, std::shared_ptr<const PeerBody> body, Index iteration = 0);
    /// Takes out what send() has collected.
    std::vector<PeerMessage> take() { return std::exchange(outbox_, {}); }

  private:
    Index step_ = -1;
    std::vector<PeerMessage> outbox_;
    std::map<Index, Early> early_;  ///< by step
};

}  // namespace couplet
