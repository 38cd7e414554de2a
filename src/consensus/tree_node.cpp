#include "tree_node.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "couplet/consensus/combine.hpp"
#include "couplet/core/error.hpp"
#include "couplet/core/operations.hpp"

namespace couplet {

TreeNode::TreeNode(const ConsensusPlan& plan, Index node, std::vector<double> initial)
    : ConsensusNode(node),
      nodes_(plan.graph.nodes()),
      parent_(plan.tree.parent[node]),
      children_(plan.tree.children[node]),
      own_(std::move(initial)),
      seen_(children_.size()),
      waiting_(children_.size()) {
    if (nodes_ == 1) phase_ = Phase::done;
}

std::vector<ConsensusMessage> TreeNode::outgoing() const {
    std::vector<ConsensusMessage> messages;
    if (phase_ == Phase::waiting_for_average) messages.push_back({parent_, 0, own_});
    if (phase_ == Phase::done) {
        for (const Index child : children_) messages.push_back({child, 1, own_});
    }
    return messages;
}

std::vector<ConsensusMessage> TreeNode::previous_outgoing() const {
    if (phase_ != Phase::done || parent_ < 0) return {};
    return {{parent_, 0, sent_}};
}

Receipt TreeNode::receive(Index from, Index iteration, std::span<const double> values) {
    const auto child = std::lower_bound(children_.begin(), children_.end(), from);
    const bool from_child = child != children_.end() && *child == from;
    if (!from_child && (parent_ < 0 || from != parent_)) {
        throw InputError({"message from node " + std::to_string(from + 1),
                          "neither parent nor child of node " + std::to_string(node() + 1),
                          "a sender next to it in the tree", ""});
    }
    if (iteration != (from_child ? 0 : 1)) {
        throw InputError({"message from node " + std::to_string(from + 1), "iteration " + std::to_string(iteration),
                          from_child ? "0, a child's sum" : "1, the average from the parent", ""});
    }
    check_values(from, values);
    if (from_child) return receive_sum(static_cast<std::size_t>(child - children_.begin()), values);
    return receive_average(values);
}

Receipt TreeNode::receive_sum(std::size_t child, std::span<const double> values) {
    if (seen_[child]) return Receipt::duplicate;
    seen_[child] = true;
    if (child != summed_) {
        waiting_[child].assign(values.begin(), values.end());
        return Receipt::accepted;
    }
    const auto additions = static_cast<double>(length());
    count_operations(additions);
    add_state(own_.data(), values.data(), length());
    for (++summed_; summed_ < children_.size() && seen_[summed_]; ++summed_) {
        const std::vector<double> sum = std::exchange(waiting_[summed_], {});
        count_operations(additions);
        add_state(own_.data(), sum.data(), length());
    }
    return Receipt::accepted;
}

Receipt TreeNode::receive_average(std::span<const double> values) {
    if (phase_ == Phase::gathering) {
        throw InputError({"message from node " + std::to_string(parent_ + 1),
                          "an average before this node sent its sum", "the average after the sum", ""});
    }
    if (has_average_) return Receipt::duplicate;
    has_average_ = true;
    sent_ = std::exchange(own_, {values.begin(), values.end()});
    return Receipt::accepted;
}

bool TreeNode::ready() const {
    if (phase_ == Phase::gathering) return summed_ == children_.size();
    return phase_ == Phase::waiting_for_average && has_average_;
}

void TreeNode::advance() {
    require_ready();
    if (phase_ == Phase::gathering && parent_ >= 0) {
        phase_ = Phase::waiting_for_average;
        return;
    }
    if (parent_ < 0) divide_state(own_.data(), static_cast<double>(nodes_), length());
    phase_ = Phase::done;
}

}  // namespace couplet
