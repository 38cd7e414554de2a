#pragma once

#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "couplet/ctt/merger.hpp"
#include "peer_base.hpp"

namespace couplet {

/// Blocks are merged along a breadth-first tree: up to its central node, which alone decomposes the stack, and the
/// features down from it. All nodes hold the same bits, and a bound on the error of all together.
class StackPeer final : public PeerBase {
  public:
    StackPeer(const Job& job, const ConsensusPlan& plan, Index node, TensorView<const double> x);

    std::optional<double> rel_error_bound() const noexcept override { return bound_; }
    Index personal_rank() const noexcept override { return personal_rank_; }

    static Index rounds(const ConsensusPlan& plan) { return 2 * plan.graph.radius(); }

  private:
    /// The steps of the protocol, in their order.
    enum class Phase { totals_up, totals_down, merges_up, features_down };
    using Body = std::shared_ptr<const PeerBody>;

    static Phase phase_of(Index step) noexcept { return static_cast<Phase>(step); }
    void begin() override { begin_up(); }
    Index last_step() const noexcept override { return static_cast<Index>(Phase::features_down); }
    void check(Index from, const PeerMessage& message) const override;
    void check_sender(Index from, Phase phase) const;
    void handle(Index from, const PeerMessage& message) override;

    void begin_up();
    void turn_when_complete();
    /// What a node sends up, and what the root sends down.
    Start sum_totals() const;
    Merger merge();
    MergeState coded_state(Merger& merger) const;
    FeaturesMessage decide(Merger& merger) const;
    void pass_down(const Body& body);

    const std::vector<Index>& children() const { return tree_.children[static_cast<std::size_t>(node())]; }
    /// Negative at the root.
    Index parent() const { return tree_.parent[static_cast<std::size_t>(node())]; }
    /// How often rows are coded on their way to the root, at most.
    Index hops() const;
    /// Bytes of a coded block, for a job with a number of them.
    Index message_bytes() const;
    /// What coding a subtree's rows may lose.
    double state_limit2(const Ledger& ledger) const;

    BfsTree tree_;
    std::map<Index, Body> gathered_;  ///< from children, in the step that is open
    std::optional<Start> totals_;
    std::optional<double> bound_;
    Index personal_rank_ = 0;
};

}  // namespace couplet
