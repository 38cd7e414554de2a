#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>

#include "couplet/ctt/peer.hpp"
#include "couplet/privacy/secure_sum.hpp"
#include "couplet/secure/budget_sums.hpp"
#include "couplet/secure/shield_plan.hpp"

namespace couplet {

/// One peer of a secure job without a coordinator (section 9): no socket, thread or clock. First the members' keys,
/// made for this epoch and signed, go along the tree, each in its own place of a sum. Every pair of members derives a
/// stream of masks from them, bound to the job, the epoch and the sum; one adds it and the other takes it away. What
/// travels up the tree are masked integers, so that a neighbour sees nothing but what is uniform; at the root they
/// cancel, and everybody gets the sum over all members and nothing else. Every peer then computes the next basis
/// itself: nobody chooses what is asked for. A sum's masks are bound to all sums before it, so that they cancel only
/// where everybody was told the same: whoever is above others in the tree and tells some of them another sum, and so
/// chooses their basis, gets noise.
///
/// A member that is lost before a sum is complete spoils it. The same sum with fewer members would show what it
/// contributed: whoever has sent masked numbers (`on_masked`) must not begin again with others.
///
/// Send what start() and receive() return, until finished().
class SecurePeer final : public Peer {
  public:
    struct Options {
        Job job;
        Graph graph;  ///< of the members
        Index node = 0;
        ShieldTerms terms = {};
        Key session{};  ///< of the job, the epoch and its members; the same at all of them
        Signer sign;
        Verifier verify;  ///< of a member by its place
        SumDemands demands = {};
        /// Hears what the job has come to before the first sum over the data; throws InputError to refuse.
        std::function<void(const ShieldPlan&)> on_plan = {};
        /// Hears of every sum, that of the counts included, before numbers are sent, which is of all members or fails;
        /// throws InputError to refuse. Knows no names.
        std::function<void(const MaskedSum&)> on_sum = {};
        /// Before the first masked numbers are sent.
        std::function<void()> on_masked = {};
    };
    /// `x` is the training data in the order of the job, and must outlive the peer. Throws InputError for a cohort
    /// below the demanded one.
    SecurePeer(TensorView<const double> x, Options options);
    ~SecurePeer() override;

    std::vector<PeerMessage> start() override;
    /// Throws InputError, and changes nothing, for a message that no honest peer could send now, and RunError where the
    /// job cannot go on: on_plan refuses, a key is not signed, a sum was changed on its way.
    std::vector<PeerMessage> receive(Index from, const PeerMessage& message) override;

    bool finished() const noexcept override { return result_.has_value(); }
    /// Throws RunError unless finished().
    const PersonalFit& result() const override;
    const Features& features() const override;
    std::optional<double> rel_error_bound() const noexcept override { return std::nullopt; }
    Index personal_rank() const noexcept override { return personal_rank_; }
    /// Of masked sums nobody measures an error.
    std::optional<ConsensusEnds> latest_consensus() const noexcept override { return std::nullopt; }
    /// Once it is known.
    const ShieldPlan* plan() const noexcept { return plan_ ? &*plan_ : nullptr; }
    /// Of a finished job.
    ShieldReport report() const;
    /// Rounds of messages so far, in which everybody talks at once.
    Index rounds() const noexcept { return (step_ + 1) * tree_.iterations; }

  private:
    void begin(std::vector<double> state);
    void begin_keys();
    void end_keys();
    void begin_sum();
    void end_sum();
    void advance();
    void send();
    std::vector<std::uint64_t> own_sum();
    bool wants_nothing() const;
    void agree_on_plan(const std::optional<Census>& census);
    void begin_budget();
    void finish();

    TensorView<const double> x_;
    Shape features_;
    Options options_;
    ConsensusPlan tree_;
    Index step_ = 0;  ///< 0: the keys, 1: the counts, then sums over the data
    Secret own_key_ = Secret::random();
    std::map<Party, Key> keys_;  ///< of all members, by place
    Key told_{};                 ///< hash of the sums so far
    SumTerms terms_;             ///< of the sum that is on its way
    std::optional<ShieldPlan> plan_;
    std::optional<BudgetJob> budget_;  ///< of a job under a budget
    std::optional<Tensor<double>> clipped_;
    std::optional<SubspaceIteration> iteration_;
    std::unique_ptr<ConsensusNode> consensus_;
    std::vector<PeerMessage> outbox_;
    std::vector<std::pair<Index, PeerMessage>> early_;  ///< of the next sum, one from each child
    std::optional<PersonalFit> result_;
    Index personal_rank_ = 0;
};

}  // namespace couplet
