#include "peer_post.hpp"

namespace couplet {

PeerPost::Early PeerPost::next_step() {
    auto waiting = early_.extract(++step_);
    return waiting.empty() ? Early{} : std::move(waiting.mapped());
}

void PeerPost::keep(Index from, const PeerMessage& message) { early_[message.step].try_emplace(from, message); }

void PeerPost::send(Index to, std::shared_ptr<const PeerBody> body, Index iteration) {
    outbox_.push_back({to, step_, iteration, std::move(body)});
}

}  // namespace couplet
