#pragma once

#include <memory>
#include <span>
#include <vector>

#include "couplet/consensus/plan.hpp"

namespace couplet {

/// A state on its way to a neighbour. `values` belong to the sending node and hold until its next advance().
struct ConsensusMessage {
    Index to = 0;
    Index iteration = 0;
    std::span<const double> values;
};

enum class Receipt {
    accepted,   ///< needed now or in the next iteration
    duplicate,  ///< its place was taken already; ignored
};

/// One node's part in a consensus: no socket, thread or clock. The driver sends outgoing() after construction
/// and after every advance(), the last one included; hands in what arrives; and calls advance() whenever
/// ready():
///
///     auto node = make_consensus_node(plan, k, initial);
///     send(node->outgoing());
///     while (!node->finished()) {
///         while (!node->ready()) node->receive(from, iteration, values);
///         node->advance();
///         send(node->outgoing());
///     }
///
/// Messages may arrive in any order, repeatedly, and one iteration early (a neighbour cannot be further
/// ahead); the result does not depend on it, because neighbours are summed in ascending order.
class ConsensusNode {
  public:
    virtual ~ConsensusNode() = default;

    Index node() const { return node_; }
    /// Numbers in every state and message.
    virtual Index length() const = 0;
    /// What to send now; empty when there is nothing.
    virtual std::vector<ConsensusMessage> outgoing() const = 0;
    /// What was sent before the last advance(), for a neighbour that lost it; none can need anything older.
    virtual std::vector<ConsensusMessage> previous_outgoing() const = 0;
    /// Throws InputError, and changes nothing, for a sender that is no neighbour in this plan, an iteration
    /// that cannot be, a wrong length or a number that is not finite.
    virtual Receipt receive(Index from, Index iteration, std::span<const double> values) = 0;
    /// Whether everything needed for advance() is here; false once finished.
    virtual bool ready() const = 0;
    /// Throws RunError unless ready().
    virtual void advance() = 0;
    virtual bool finished() const = 0;
    /// The average at this node (the sum is K times it). Throws RunError unless finished().
    std::span<const double> result() const;

  protected:
    explicit ConsensusNode(Index node) : node_(node) {}
    virtual std::span<const double> state() const = 0;
    void require_ready() const;
    /// The checks of receive() that are the same for every engine.
    void check_values(Index from, std::span<const double> values) const;

  private:
    Index node_;
};

/// The state machine of node `node` (counted from 0) that starts from `initial`; copies its part of the plan.
/// Throws InputError for a node out of range or an initial number that is not finite.
std::unique_ptr<ConsensusNode> make_consensus_node(const ConsensusPlan& plan, Index node, std::vector<double> initial);

}  // namespace couplet
