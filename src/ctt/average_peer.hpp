#pragma once

#include <optional>

#include "couplet/ctt/client.hpp"
#include "peer_base.hpp"
#include "peer_consensus.hpp"

namespace couplet {

/// The paper's decentralized method (Alg. 3): one consensus on D_k = U_k^T X_k, then every node decomposes the mean
/// that it has. Nodes that have not agreed yet end with different features.
class AveragePeer final : public PeerBase {
  public:
    AveragePeer(const Job& job, const ConsensusPlan& plan, Index node, TensorView<const double> x);

    Index personal_rank() const noexcept override { return *job().rank; }
    std::optional<ConsensusEnds> latest_consensus() const noexcept override { return consensus_.ends(); }

    static Index rounds(const ConsensusPlan& plan) noexcept { return plan.iterations; }

  private:
    void begin() override;
    Index last_step() const noexcept override { return 0; }
    void check(Index from, const PeerMessage& message) const override;
    void handle(Index from, const PeerMessage& message) override;
    void finish_when_agreed();

    PeerConsensus consensus_;
    std::optional<PersonalSplit> split_;
};

}  // namespace couplet
