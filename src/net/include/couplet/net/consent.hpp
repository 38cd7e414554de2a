#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "couplet/net/disclosure_ledger.hpp"
#include "couplet/wire/message.hpp"

namespace couplet::net {

/// What a site answers, whatever the coordinator asks: policy.toml in its kit. The defaults refuse what gives a patient
/// away for certain: a handful of patients, a rank close to their number, and jobs that show the same together or by
/// their difference.
struct SitePolicy {
    Index min_patients = 6;  ///< who take part, held-out ones not counted
    /// Directions that a job sees, in patients: the rank that is sent, columns of all sums, features of a Gram matrix.
    double max_rank_share = 0.5;
    double max_directions_share = 0.5;  ///< the same of all jobs on the same patients together, where sums are open
    bool any_cohort = false;            ///< jobs on nearly the patients of another one, whose difference is a few
    std::vector<Aggregate> aggregates = {Aggregate::stack, Aggregate::average, Aggregate::subspace};
    double max_heldout = 0.5;
    Index max_sums = 8;                  ///< of one job
    Index max_sum_width = 1000;          ///< columns of one sum
    Index min_others = 0;                ///< parties besides this one; they hide nothing unless sums are masked
    bool missing = true;                 ///< jobs that fill missing entries, which asks many times
    bool secure_only = false;            ///< jobs whose sums are not masked are refused
    Index min_cohort = 3;                ///< clients whose numbers are in a masked sum
    Index colluders = 1;                 ///< of them, who may tell the coordinator what they know
    double patients_per_direction = 10;  ///< honest ones, for each direction that masked sums of all jobs show; 0: any
    double dp_epsilon = 0;               ///< that all jobs on one data set may spend together; 0: no budget
    double dp_delta = 1e-5;
    /// Verdict of couplet audit on this client's own message; a worse one is warned of at the start of a job.
    std::string worst_verdict = "membership";
    Index patience = 0;  ///< seconds to wait for what brings a job forward; 0: as the command line says
    friend bool operator==(const SitePolicy&, const SitePolicy&) = default;
};

/// Reads policy.toml. Keys that are not there keep their defaults; throws InputError, naming file and key, for a key
/// that is not known or a value out of range.
SitePolicy parse_policy(const std::string& text, const std::string& where);
/// Refuses a file that others than its owner may write, too.
SitePolicy load_policy(const std::filesystem::path& file);
/// As a file that says what each key means.
std::string policy_text(const SitePolicy& policy);
/// Refuses whatever one of both refuses.
SitePolicy stricter(const SitePolicy& a, const SitePolicy& b);
/// Keys by which it allows what the defaults refuse.
std::vector<std::string> relaxed_keys(const SitePolicy& policy);
/// Allows everything: a job is then held against its own promises alone.
SitePolicy no_policy();

/// A job in words, for a log and for whoever is asked.
std::string job_text(const wire::Welcome& welcome);

/// Holds every request of a job against the policy and against what the job said at its start. No socket: hand it what
/// arrives before it is answered, and answers before they are sent; of a job among peers what the peer itself sends.
class Consent {
  public:
    /// `patients` and `features` are of this client's data.
    Consent(SitePolicy policy, Index patients, Shape features);
    /// From now on every answer is booked, and jobs are held against those before them. `x` is the data, whose patients
    /// are known by their records; both must outlive this. Under differential privacy nothing is booked here: there is
    /// an account for that.
    void remember(DisclosureLedger& ledger, const Tensor<double>& x);

    /// Throws InputError that says which key of the policy, or which promise of the job, is not kept. A welcome begins
    /// a new job.
    void vet(const wire::Message& message);
    /// The same for what a job of masked sums has come to once patients are counted. Nothing is booked yet.
    void vet_plan(const ShieldPlan& plan);
    /// Books a masked sum before numbers leave, unless the same was shown before: on the same basis, of the same
    /// clients and of the same patients of this one.
    void vet_sum(const MaskedSum& sum);
    /// What masked sums must keep, whatever the coordinator says.
    SumDemands demands() const noexcept;

  private:
    void vet_job(const wire::Message& message, const wire::Welcome& welcome);
    void vet_directions() const;
    void vet_peer_sums() const;
    void vet_shield() const;
    void vet_start(const Start& start);
    void vet_sum(const wire::Message& message, const SumRequest& request);
    void vet_basis(const SumRequest& request) const;
    void vet_upload(const Upload& upload);
    void vet_merge(const MergeState& state);
    void vet_centring(const wire::CentringRequest& request);
    void open_page(const wire::Welcome& welcome);
    void book_sum(const wire::Message& message, const SumRequest& request);
    void book(const Disclosure& what, double honest = 0);
    DisclosureLimits limits(bool masked, double honest) const;
    std::string prepared() const;
    std::string rows_name() const;
    std::string sum_name(const Matrix<double>& basis, std::uint32_t attempt) const;
    std::string masked_name(const MaskedSum& sum) const;
    double counted_honest(const ShieldPlan& plan) const;
    void require_masked_room(const ShieldPlan& plan) const;
    Index promised_directions() const;

    SitePolicy policy_;
    Index patients_;
    Shape features_;
    Index training_ = 0;
    wire::JobSpec spec_;
    Index sums_ = 0;                  ///< different ones that were asked for
    std::uint32_t last_attempt_ = 0;  ///< a job that begins again asks the same again
    Index last_pass_ = -1;
    Index asked_ = 0;  ///< columns of the blocks that were asked for
    DisclosureLedger* ledger_ = nullptr;
    const Tensor<double>* x_ = nullptr;
    std::optional<Cohort> cohort_;  ///< of the job, where it is booked
    std::string job_;
    std::string moved_;  ///< names what the data was centred and scaled by
    std::string order_;  ///< names the order that the job has its features in
};

}  // namespace couplet::net
