#pragma once

#include <map>
#include <memory>
#include <optional>
#include <variant>
#include <vector>

#include "couplet/consensus/node.hpp"
#include "couplet/consensus/plan.hpp"
#include "couplet/ctt/star.hpp"

namespace couplet {

/// What one peer tells another: a consensus state; a basis or the result, flooded or sent down a tree; totals or a
/// merge on the way up a tree.
using PeerBody = std::variant<Released<std::vector<double>>, Matrix<double>, FeaturesMessage, Start, MergeState>;

/// `step` counts the sub-protocols of a job, the same at every peer. The body is shared, not copied, between the
/// neighbours it goes to.
struct PeerMessage {
    Index to = 0;
    Index step = 0;
    Index iteration = 0;
    std::shared_ptr<const PeerBody> body;
};

/// Numbers in a message, as they would travel.
Index count_numbers(const PeerBody& body);

/// Rounds of messages of a whole job in which everybody talks at once.
Index count_rounds(const Job& job, const ConsensusPlan& plan, const Shape& features);

/// A peer of the decentralized network: no socket, thread or clock. Send what start() and receive() return, until
/// finished().
///
/// - average: consensus on D_k, then TT-SVD(eps2) of what each node has (paper Alg. 3).
/// - subspace: consensus on each sum; after it the first node floods the next basis, and at the end the features, so
/// that
///   all nodes hold the same bits.
/// - stack: totals, then merges, up a breadth-first tree to its central node; totals, then features, down it.
///
/// Messages may arrive in any order, repeatedly, and ahead of time; the result does not depend on it.
class Peer {
  public:
    /// The tensor must outlive the peer. All peers need the same job and plan.
    Peer(const Job& job, const ConsensusPlan& plan, Index node, TensorView<const double> x);

    std::vector<PeerMessage> start();
    /// Throws InputError, and changes nothing, for a message no honest peer could send now. One that arrives before
    /// start() waits for it.
    std::vector<PeerMessage> receive(Index from, const PeerMessage& message);

    bool finished() const noexcept { return result_.has_value(); }
    const PersonalFit& result() const;
    const Features& features() const;
    std::optional<double> rel_error_bound() const noexcept { return bound_; }
    Index personal_rank() const noexcept { return personal_rank_; }
    /// Start and result of the latest consensus at this node, for measuring its error.
    const std::vector<double>& consensus_initial() const noexcept { return initial_; }
    const std::vector<double>& consensus_result() const noexcept { return averaged_; }

  private:
    enum class Activity { consensus, flood, gather, scatter, done };

    void check(Index from, const PeerMessage& message) const;
    void check_flooded(const PeerBody& body, Index step) const;
    void begin_consensus(Released<std::vector<double>> state);
    void advance_consensus();
    void after_consensus();
    void begin_sum();
    void begin_flood();
    /// Who gets what is flooded: all neighbours, or those in the tree where sums go along one.
    std::vector<Index> flooded() const;
    void take_flooded(const PeerBody& body);
    void begin_gather();
    void gather_when_complete();
    void begin_scatter();
    void take_scattered(const PeerBody& body);
    void handle(Index from, const PeerMessage& message);
    void next_step(Activity activity);
    void send(Index to, std::shared_ptr<const PeerBody> body, Index iteration = 0);
    void send_consensus();
    void finish(const Features& features);
    Start own_totals() const;
    /// How often rows are coded on their way to the root, at most.
    Index hops() const;
    /// Bytes of a coded block, for a job with a number of them.
    Index message_bytes() const;
    /// What coding a subtree's rows may lose.
    double state_limit2(const Ledger& ledger) const;

    Job job_;
    ConsensusPlan plan_;
    Index node_;
    TensorView<const double> x_;
    double norm2_;
    Shape features_shape_;
    BfsTree tree_;
    Index step_ = -1;
    Index last_step_ = 0;
    Index sketch_width_ = 0;
    Activity activity_ = Activity::done;
    std::vector<PeerMessage> outbox_;
    std::map<Index, std::map<Index, PeerMessage>> early_;  ///< by step and sender
    std::unique_ptr<ConsensusNode> consensus_;
    std::vector<double> initial_;
    std::vector<double> averaged_;
    std::optional<SubspaceIteration> subspace_;
    std::optional<PersonalSplit> average_;
    std::map<Index, std::shared_ptr<const PeerBody>> gathered_;
    std::optional<Start> totals_;
    std::shared_ptr<const PeerBody> scattered_;
    std::optional<Features> shared_;
    std::optional<PersonalFit> result_;
    std::optional<double> bound_;
    Index personal_rank_ = 0;
};

}  // namespace couplet
