#pragma once

#include "couplet/consensus/node.hpp"

namespace couplet {

/// Sums travel up a tree and the average down it: iteration 0 is the message to the parent, 1 the one from
/// it. Memory: one state, plus one for each child's message that came before its turn.
class TreeNode final : public ConsensusNode {
  public:
    TreeNode(const ConsensusPlan& plan, Index node, std::vector<double> initial);

    Index length() const override { return static_cast<Index>(own_.size()); }
    std::vector<ConsensusMessage> outgoing() const override;
    std::vector<ConsensusMessage> previous_outgoing() const override;
    Receipt receive(Index from, Index iteration, std::span<const double> values) override;
    bool ready() const override;
    void advance() override;
    bool finished() const override { return phase_ == Phase::done; }

  private:
    enum class Phase { gathering, waiting_for_average, done };

    std::span<const double> state() const override { return own_; }
    Receipt receive_sum(std::size_t child, std::span<const double> values);
    Receipt receive_average(std::span<const double> values);

    Index nodes_;
    Index parent_;
    std::vector<Index> children_;
    std::vector<double> own_;  ///< own state, then the sum below this node, then the average
    std::size_t summed_ = 0;   ///< children already in own_, always the first ones
    std::vector<bool> seen_;
    std::vector<std::vector<double>> waiting_;
    std::vector<double> sent_;  ///< the sum that went to the parent, kept for previous_outgoing()
    bool has_average_ = false;
    Phase phase_ = Phase::gathering;
};

}  // namespace couplet
