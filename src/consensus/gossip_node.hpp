#pragma once

#include "couplet/consensus/node.hpp"

namespace couplet {

/// Engines where every node sends its state to every neighbour in every iteration. Memory: three states, plus
/// one for each message that came before its turn.
class GossipNode final : public ConsensusNode {
  public:
    GossipNode(const ConsensusPlan& plan, Index node, std::vector<double> initial);

    Index length() const override { return static_cast<Index>(own_.size()); }
    std::vector<ConsensusMessage> outgoing() const override;
    std::vector<ConsensusMessage> previous_outgoing() const override;
    Receipt receive(Index from, Index iteration, std::span<const double> values) override;
    bool ready() const override { return !finished() && summed_ == neighbours_.size(); }
    void advance() override;
    bool finished() const override { return iteration_ == iterations_; }

  private:
    /// Messages of one iteration that wait for their turn in the sum.
    struct Inbox {
        std::vector<bool> seen;
        std::vector<std::vector<double>> waiting;
    };

    std::span<const double> state() const override { return own_; }
    std::vector<ConsensusMessage> to_neighbours(Index iteration, const std::vector<double>& values) const;
    void add(std::size_t position, std::span<const double> values);
    void add_waiting();

    std::vector<Index> neighbours_;
    std::vector<double> weights_;
    std::vector<ConsensusStep> steps_;
    Index iterations_;
    Index iteration_ = 0;
    std::vector<double> own_;
    std::vector<double> previous_;
    std::vector<double> sum_;
    std::size_t summed_ = 0;  ///< neighbours already in sum_, always the first ones
    Inbox current_;
    Inbox next_;
};

}  // namespace couplet
