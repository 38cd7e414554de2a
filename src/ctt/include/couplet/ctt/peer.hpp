#pragma once

#include <memory>
#include <optional>
#include <span>
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

/// What a consensus began with at this node and what it ended with, for measuring its error.
struct ConsensusEnds {
    std::span<const double> initial;
    std::span<const double> result;
};

/// A peer of the decentralized network: no socket, thread or clock. Send what start() and receive() return, until
/// finished(). Each aggregate is a protocol of its own:
///
/// - average: consensus on D_k, then TT-SVD(eps2) of what each node has (paper Alg. 3).
/// - subspace: consensus on each sum; after it the first node floods the next basis, and at the end the features, so
///   that all nodes hold the same bits.
/// - stack: totals, then merges, up a breadth-first tree to its central node; totals, then features, down it.
///
/// Messages may arrive in any order, repeatedly, and ahead of time; the result does not depend on it.
class Peer {
  public:
    Peer() = default;
    virtual ~Peer() = default;
    Peer(const Peer&) = delete;
    Peer& operator=(const Peer&) = delete;

    virtual std::vector<PeerMessage> start() = 0;
    /// Throws InputError, and changes nothing, for a message no honest peer could send now. One that arrives before
    /// start() waits for it.
    virtual std::vector<PeerMessage> receive(Index from, const PeerMessage& message) = 0;

    virtual bool finished() const noexcept = 0;
    /// Throw RunError before the end.
    virtual const PersonalFit& result() const = 0;
    virtual const Features& features() const = 0;
    /// Nothing with an aggregate that promises none.
    virtual std::optional<double> rel_error_bound() const noexcept = 0;
    virtual Index personal_rank() const noexcept = 0;
    /// Nothing with an aggregate that has no consensus.
    virtual std::optional<ConsensusEnds> latest_consensus() const noexcept = 0;
};

/// The peer at `node` that speaks the protocol of the job's aggregate. The tensor must outlive it. All peers need the
/// same job and plan. Throws InputError for a tensor of fewer than two modes and as job_norm2().
std::unique_ptr<Peer> make_peer(const Job& job, const ConsensusPlan& plan, Index node, TensorView<const double> x);

}  // namespace couplet
