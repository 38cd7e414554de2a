#pragma once

#include <optional>
#include <vector>

#include "couplet/ctt/subspace.hpp"
#include "peer_base.hpp"
#include "peer_consensus.hpp"

namespace couplet {

/// Subspace iteration on sums over all nodes. Steps take turns: a consensus on a sum, then a flood of what the first
/// node makes of it, the next basis or in the end the features. So all nodes hold the same bits.
class SubspacePeer final : public PeerBase {
  public:
    SubspacePeer(const Job& job, const ConsensusPlan& plan, Index node, TensorView<const double> x);

    Index personal_rank() const noexcept override;
    std::optional<ConsensusEnds> latest_consensus() const noexcept override { return consensus_.ends(); }

    static Index rounds(const Job& job, const ConsensusPlan& plan, const Shape& features);

  private:
    enum class Phase { sum, flood };

    static Phase phase_of(Index step) noexcept { return step % 2 == 0 ? Phase::sum : Phase::flood; }
    void begin() override { begin_sum(); }
    Index last_step() const noexcept override { return last_step_; }
    void check(Index from, const PeerMessage& message) const override;
    void check_flooded(const PeerBody& body, Index step) const;
    void handle(Index from, const PeerMessage& message) override;
    void begin_sum();
    void flood_when_agreed();
    void begin_flood();
    void pass_on(Index from, const PeerMessage& message);
    void take_flooded(const PeerBody& body);
    /// Who gets what is flooded: all neighbours, or those in the tree where sums go along one.
    std::vector<Index> flooded() const;

    SubspaceIteration subspace_;
    Index sketch_width_;
    Index last_step_;
    PeerConsensus consensus_;
};

}  // namespace couplet
