#include "peer_consensus.hpp"

#include <string>
#include <utility>

#include "couplet/core/error.hpp"
#include "peer_base.hpp"
#include "release_gate.hpp"

namespace couplet {
namespace {

using State = Released<std::vector<double>>;

}  // namespace

void PeerConsensus::check(const PeerMessage& message, Index step) {
    require_body<State>(*message.body, "a consensus state");
    if (message.step > step && message.iteration != 0) {
        throw InputError({"peer message", "iteration " + std::to_string(message.iteration) + " of a later step",
                          "its first iteration: the next needs this node's state", ""});
    }
}

void PeerConsensus::begin(State state, PeerPost& post) {
    const auto early = post.next_step();
    initial_ = std::move(state).take();
    node_ = make_consensus_node(plan_, number_, initial_);
    send(post);
    for (const auto& [from, message] : early) {
        try {
            node_->receive(from, message.iteration, std::get<State>(*message.body).get());
        } catch (const InputError&) {
            // Its size could not be checked when it came.
        }
    }
    advance(post);
}

void PeerConsensus::receive(Index from, const PeerMessage& message, PeerPost& post) {
    node_->receive(from, message.iteration, std::get<State>(*message.body).get());
    advance(post);
}

void PeerConsensus::advance(PeerPost& post) {
    while (node_->ready()) {
        node_->advance();
        send(post);
    }
    if (!node_->finished()) return;
    const auto result = node_->result();
    result_.assign(result.begin(), result.end());
    node_.reset();
}

void PeerConsensus::send(PeerPost& post) const {
    std::shared_ptr<const PeerBody> body;
    const double* shared = nullptr;
    for (const auto& message : node_->outgoing()) {
        if (message.values.data() != shared || !body) {
            // A mean of released states.
            body = body_of(ReleaseGate::release(std::vector<double>(message.values.begin(), message.values.end())));
            shared = message.values.data();
        }
        post.send(message.to, body, message.iteration);
    }
}

}  // namespace couplet
