#pragma once

#include <functional>
#include <optional>
#include <set>

#include "couplet/secure/budget_sums.hpp"
#include "couplet/secure/secure_messages.hpp"
#include "couplet/secure/shield_plan.hpp"
#include "couplet/tensor/tensor.hpp"

namespace couplet {

/// What a client must remember of a job when its process ends: what was read with its help is never computed again,
/// whoever asks, because the same sum with other clients would show the difference.
struct SumRecord {
    Index sums = 0;          ///< that it helped to read
    Key told{};              ///< hash of what the job said at its start, and of this client's place in it
    Key counts{};            ///< hash of the counts that the job stands on; once sums > 1
    std::set<Party> cohort;  ///< whose numbers are in the first sum over the data, and in every later one; likewise
    friend bool operator==(const SumRecord&, const SumRecord&) = default;
};

/// One client of a secure job: no socket, thread or clock. Every request is held against what the job said at its
/// start; all that the coordinator decides is who was lost.
class SecureClient {
  public:
    struct Options {
        SecureJobId job{};
        Party self = 0;
        Index clients = 0;  ///< that the job began with
        Key told{};         ///< hash of what the job said at its start, as every client was told
        SumDemands demands = {};
        ShieldTerms terms = {};
        Notary notary;
        SumRecord record = {};  ///< of this job, from before
        /// Makes it durable before a share is revealed.
        std::function<void(const SumRecord&)> on_record = {};
        /// Hears what the job has come to before the first sum over the data; throws InputError to refuse.
        std::function<void(const ShieldPlan&)> on_plan = {};
        /// Hears of every sum, that of the counts included, before numbers leave and before its members are agreed on;
        /// throws InputError to refuse.
        std::function<void(const MaskedSum&)> on_sum = {};
        /// What the secrets of the next keys come from; nothing: the system's generator. A client that must go
        /// on in another process keeps it, and never gives it to other keys.
        SecretSource root = {};
    };
    /// `x` is the training data in the order of the job, and must outlive the client. Throws InputError for a cohort
    /// below the demanded one, and for another job than the one of this name before.
    SecureClient(const Job& job, TensorView<const double> x, Options options);
    SecureClient(const SecureClient&) = delete;
    SecureClient& operator=(const SecureClient&) = delete;

    /// Throws InputError that names what is wrong with the request; the client then takes no further part.
    SecureReply answer(const SecureRequest& request);
    /// Takes a request that an earlier process of this client has answered or refused, so that this one goes on where
    /// it was: with the root and the record from then. Throws what answer() threw.
    void recall(const SecureRequest& request);
    const SumRecord& record() const noexcept { return options_.record; }
    /// Numbers of the sum that was asked for last.
    std::int64_t sum_length() const noexcept { return run_ ? run_->terms.length() : 0; }
    /// Once it is known.
    const ShieldPlan* plan() const noexcept { return plan_ ? &*plan_ : nullptr; }

  private:
    /// Keys, and the sum that they were last used for.
    struct Run {
        Index sum = 0;
        Index again = 0;
        SubspaceIteration::Want want = SubspaceIteration::Want::nothing;
        Matrix<double> basis = {};
        std::vector<Matrix<double>> bases = {};  ///< that were told since the keys were made
        Key told = {};
        KeyTerms keys = {};
        SumTerms terms = {};
        std::map<Party, std::string> certificates = {};
        std::optional<SecureSumClient> client = {};
        bool opened = false;  ///< the others' shares
    };

    Index first_sum() const noexcept { return options_.terms.guarantee ? 1 : 0; }
    int threshold() const noexcept;
    Key own_story() const;
    void require_turn(const SecureRequest& request) const;
    void agree_on_plan(const std::vector<std::uint64_t>& counts);
    void take_basis(const AskNumbers& ask);
    void follow_budget(const AskNumbers& ask);
    void begin_keys(const SecureRequest& request);
    void begin_sum(const SecureRequest& request, const AskNumbers& ask);
    SecureAnswer keys(const SecureRequest& request);
    SecureAnswer shares(const AskShares& ask);
    SecureAnswer numbers(const SecureRequest& request, const AskNumbers& ask);
    SecureAnswer endorse(const AskEndorsement& ask);
    SecureAnswer unmask(const AskUnmasking& ask);
    void require_cohort(const std::set<Party>& members) const;
    std::vector<std::uint64_t> values();
    void tell_sum(const std::set<Party>& members, bool agreed) const;
    /// Of the secrets of these keys.
    SecretSource secrets() const;

    Job job_;
    TensorView<const double> x_;
    Shape features_;
    Options options_;
    Key counts_{};  ///< hash of what plan_ stands on
    std::optional<ShieldPlan> plan_;
    std::optional<BudgetJob> budget_;  ///< as far as its sums were told
    Index opened_ = 0;                 ///< of these
    std::optional<Tensor<double>> clipped_;
    std::optional<Run> run_;
};

}  // namespace couplet
