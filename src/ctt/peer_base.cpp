#include "peer_base.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "couplet/ctt/prepare.hpp"

namespace couplet {
namespace {

// A neighbour can be past the flood that this node still waits for and in the consensus after it, where it needs this
// node's state: never further.
constexpr Index most_steps_ahead = 2;

}  // namespace

void require_features(const Shape& found, const Shape& expected) {
    if (found == expected) return;
    throw InputError({"peer message", "feature modes " + found.to_string(), expected.to_string(), ""});
}

PeerBase::PeerBase(const Job& job, const ConsensusPlan& plan, Index node, TensorView<const double> x)
    : job_(job), plan_(plan), node_(node), x_(std::move(x)), norm2_(job_norm2(x_, "peer")) {
    if (x_.shape().order() < 2) {
        throw InputError({"tensor", "order " + std::to_string(x_.shape().order()),
                          "at least two modes: patients and a feature", ""});
    }
    features_shape_ = Shape(std::vector<Index>(x_.shape().sizes().begin() + 1, x_.shape().sizes().end()));
}

std::vector<PeerMessage> PeerBase::start() {
    begin();
    return post_.take();
}

std::vector<PeerMessage> PeerBase::receive(Index from, const PeerMessage& message) {
    if (!plan_.graph.has_edge(node_, from)) {
        throw InputError({"peer message", "a sender that is no neighbour: node " + std::to_string(from + 1),
                          "a neighbour of node " + std::to_string(node_ + 1), ""});
    }
    check_step(message);
    check(from, message);
    if (finished()) return {};
    if (message.step > step()) {
        post_.keep(from, message);
    } else if (message.step == step()) {
        handle(from, message);
    }
    return post_.take();
}

void PeerBase::check_step(const PeerMessage& message) const {
    const Index latest = std::min(last_step(), step() + most_steps_ahead);
    if (message.step >= 0 && message.step <= latest && message.body) return;
    throw InputError({"peer message", "step " + std::to_string(message.step), "at most " + std::to_string(latest), ""});
}

void PeerBase::finish(Features features) {
    PersonalFit fit = refit(x_, features, norm2_);
    finish(std::move(features), std::move(fit));
}

void PeerBase::finish(Features features, PersonalFit fit) {
    shared_ = std::move(features);
    result_ = std::move(fit);
}

const PersonalFit& PeerBase::result() const {
    if (!result_) throw RunError({"peer", "no features yet", "a finished job", ""});
    return *result_;
}

const Features& PeerBase::features() const {
    if (!shared_) throw RunError({"peer", "no features yet", "a finished job", ""});
    return *shared_;
}

}  // namespace couplet
