#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "couplet/secure/budget_sums.hpp"
#include "couplet/secure/secure_messages.hpp"
#include "couplet/secure/shield_plan.hpp"

namespace couplet {

/// The coordinator of a secure job, from the counts to the features: no socket, thread or clock, and no secret. Ask
/// asked() with request(), hand over what they answer, close() the step when all have answered or time is up. The same
/// answers and closings lead to the same requests, so that a coordinator that was killed can be put back where it was.
///
/// The first sum over the data may lose clients, down to the threshold. Later ones need exactly those whose numbers are
/// in the first: a sum that lacks one is tried again with fresh keys, and then the job ends with what its sums so far
/// give, because fewer clients would show what the others contributed.
class SecureCoordinator {
  public:
    struct Options {
        SecureJobId job{};
        Key told{};  ///< hash of what the job said at its start, as every client was told
        ShieldTerms terms = {};
        Notary notary;                       ///< name_of and verify
        std::map<Party, std::string> names;  ///< of the clients
        Index least = 0;                     ///< clients whose numbers must be in the result, beyond the threshold
        int tries = 3;                       ///< of a sum that lacks somebody
    };
    /// Throws InputError for fewer clients than a cohort, and for more than secrets have shares.
    SecureCoordinator(const Job& job, Shape features, Options options);
    SecureCoordinator(const SecureCoordinator&) = delete;
    SecureCoordinator& operator=(const SecureCoordinator&) = delete;

    const std::set<Party>& asked() const noexcept { return asked_; }
    SecureRequest request(Party to);
    /// Bytes of masked numbers in an answer to this step; 0 in all others.
    std::size_t number_bytes() const;
    /// Throws InputError for what no honest client can answer, naming it.
    void take(Party from, SecureReply reply);
    /// Whoever has not answered is lost to this sum. Throws RunError when too few are left; nothing was revealed then.
    void close();

    bool finished() const noexcept { return features_.has_value(); }
    const Features& features() const { return *features_; }
    /// Known after the first sum.
    const ShieldPlan* plan() const noexcept { return plan_ ? &*plan_ : nullptr; }
    int threshold() const noexcept { return secure_threshold(options_.terms, clients()); }
    /// Whose numbers are in the sums over the data; empty before the first of them.
    const std::set<Party>& cohort() const noexcept { return cohort_; }
    /// Why the features are those of fewer sums than planned, in words; empty: they are not.
    const std::string& shortened() const noexcept { return shortened_; }
    Index sum() const noexcept { return sum_; }
    /// "keys for sum 2".
    std::string step_text() const;
    /// Sums that were completed.
    Index sums_done() const noexcept { return done_; }
    /// What the sums showed, and what noise costs; after the first sum.
    ShieldReport report() const;
    /// That each client has sent in sums over the data, and was told with them.
    double numbers_up() const noexcept { return numbers_up_; }
    double numbers_down() const noexcept { return numbers_down_; }
    /// Questions to all, each with its answers, and the features.
    Index rounds() const noexcept { return closed_ + 1; }

  private:
    enum class Step { keys, shares, numbers, endorsement, unmasking };
    Index clients() const noexcept { return static_cast<Index>(options_.names.size()); }
    void begin_keys(Index sum);
    void begin_sum(Index sum, std::set<Party> members);
    AskNumbers numbers_ask() const;
    double rounding_of_sums() const;
    void finish_sum();
    void finish_budget_sum(const std::vector<std::uint64_t>& total, const std::set<Party>& sites);
    std::vector<Stretch> stretches() const;
    bool complete(const std::set<Party>& there) const;
    void fall_short(const std::set<Party>& there);
    std::string name_list(const std::set<Party>& parties) const;
    void take_keys(Party from, Announced announced);

    Job job_;
    Shape shape_;
    Options options_;
    Index sum_ = 0;
    Index again_ = 0;
    Index done_ = 0;
    double numbers_up_ = 0;
    double numbers_down_ = 0;
    Step step_ = Step::keys;
    std::set<Party> asked_;
    std::set<Party> answered_;
    Index tries_ = 0;  ///< of this sum
    Index closed_ = 0;
    Index first_ = 0;     ///< sum of these keys
    bool fresh_ = false;  ///< no sum of these keys is complete
    Key told_{};          ///< chained since the keys were made
    SumTerms terms_;
    std::map<Party, std::string> certificates_;
    std::optional<SecureSumCoordinator> sums_;
    std::vector<std::uint64_t> counts_;
    std::optional<BudgetJob> budget_;
    std::vector<OpenedSum> opened_;  ///< under a budget
    int ring_bits_ = 0;              ///< of its widest ring
    std::optional<ShieldPlan> plan_;
    std::optional<SubspaceIteration> iteration_;
    std::set<Party> cohort_;
    Matrix<double> block_basis_;  ///< of the last block that is complete
    Matrix<double> block_;
    std::string shortened_;
    std::optional<Features> features_;
};

}  // namespace couplet
