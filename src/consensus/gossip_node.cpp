#include "gossip_node.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "couplet/consensus/combine.hpp"
#include "couplet/core/error.hpp"
#include "couplet/core/operations.hpp"

namespace couplet {

GossipNode::GossipNode(const ConsensusPlan& plan, Index node, std::vector<double> initial)
    : ConsensusNode(node), steps_(plan.steps), iterations_(plan.iterations), own_(std::move(initial)) {
    const auto list = plan.graph.neighbours(node);
    neighbours_.assign(list.begin(), list.end());
    weights_ =
        plan.weights.empty() ? std::vector<double>(list.size(), 1.0) : plan.weights[static_cast<std::size_t>(node)];
    previous_ = own_;
    sum_.assign(own_.size(), 0);
    current_ = next_ = {std::vector<bool>(neighbours_.size()), std::vector<std::vector<double>>(neighbours_.size())};
}

std::vector<ConsensusMessage> GossipNode::to_neighbours(Index iteration, const std::vector<double>& values) const {
    std::vector<ConsensusMessage> messages;
    for (const Index j : neighbours_) messages.push_back({j, iteration, values});
    return messages;
}

std::vector<ConsensusMessage> GossipNode::outgoing() const {
    if (finished()) return {};
    return to_neighbours(iteration_, own_);
}

std::vector<ConsensusMessage> GossipNode::previous_outgoing() const {
    if (iteration_ == 0) return {};
    return to_neighbours(iteration_ - 1, previous_);
}

Receipt GossipNode::receive(Index from, Index iteration, std::span<const double> values) {
    const auto place = std::lower_bound(neighbours_.begin(), neighbours_.end(), from);
    if (place == neighbours_.end() || *place != from) {
        throw InputError({"message from node " + std::to_string(from + 1),
                          "not a neighbour of node " + std::to_string(node() + 1), "a sender the graph links to it",
                          ""});
    }
    if (iteration < 0 || iteration >= iterations_ || iteration > iteration_ + 1) {
        throw InputError({"message from node " + std::to_string(from + 1), "iteration " + std::to_string(iteration),
                          "at most " + std::to_string(std::min(iteration_ + 1, iterations_ - 1)) + ", because node " +
                              std::to_string(node() + 1) + " is in iteration " + std::to_string(iteration_),
                          ""});
    }
    check_values(from, values);
    const auto position = static_cast<std::size_t>(place - neighbours_.begin());
    Inbox& inbox = iteration == iteration_ ? current_ : next_;
    if (iteration < iteration_ || inbox.seen[position]) return Receipt::duplicate;
    inbox.seen[position] = true;
    if (iteration == iteration_ && position == summed_) {
        add(position, values);
        add_waiting();
    } else {
        inbox.waiting[position].assign(values.begin(), values.end());
    }
    return Receipt::accepted;
}

void GossipNode::add(std::size_t position, std::span<const double> values) {
    count_operations(3 * static_cast<double>(length()));
    add_difference(sum_.data(), own_.data(), values.data(), weights_[position], length());
    ++summed_;
}

void GossipNode::add_waiting() {
    while (summed_ < neighbours_.size() && current_.seen[summed_]) {
        const std::vector<double> values = std::exchange(current_.waiting[summed_], {});
        add(summed_, values);
    }
}

void GossipNode::advance() {
    require_ready();
    const ConsensusStep step = steps_.empty() ? ConsensusStep{} : steps_[iteration_];
    count_operations((step.momentum == 0 ? 2 : 5) * static_cast<double>(length()));
    step_state(previous_.data(), own_.data(), sum_.data(), step.gain, step.momentum, length());
    own_.swap(previous_);
    ++iteration_;
    std::fill(sum_.begin(), sum_.end(), 0.0);
    summed_ = 0;
    std::swap(current_, next_);
    next_.seen.assign(neighbours_.size(), false);
    add_waiting();
}

}  // namespace couplet
