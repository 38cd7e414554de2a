#pragma once

#include <memory>
#include <string>

#include "couplet/net/disclosure_ledger.hpp"
#include "couplet/net/privacy_book.hpp"
#include "couplet/net/site_policy.hpp"
#include "couplet/wire/message.hpp"

namespace couplet::net {

/// A job in words, for a log and for whoever is asked.
std::string job_text(const wire::Welcome& welcome);

/// Holds every request of a job against the policy and against what the job said at its start. No socket: hand it what
/// arrives before it is answered, and answers before they are sent; of a job among peers what the peer itself sends.
class Consent {
  public:
    /// `patients` and `features` are of this client's data.
    Consent(SitePolicy policy, Index patients, Shape features);
    ~Consent();
    Consent(Consent&&) noexcept;
    /// From now on every answer is booked, and jobs are held against those before them. `x` is the data, whose patients
    /// are known by their records; all must outlive this. Under differential privacy nothing is booked here: there is
    /// an account for that, `book`, and a guarantee is as good as all that it holds together.
    void remember(DisclosureLedger& ledger, const Tensor<double>& x, const PrivacyBook* book = nullptr);

    /// Throws InputError that says which key of the policy, or which promise of the job, is not kept. A welcome begins
    /// a new job.
    void vet(const wire::Message& message);
    /// The same for what a job of masked sums has come to once patients are counted. Nothing is booked yet.
    void vet_plan(const ShieldPlan& plan);
    /// Books a masked sum, or the counts before them, before numbers leave, unless the same was shown before: on the
    /// same basis, of the same clients and of the same patients of this one.
    void vet_sum(const MaskedSum& sum);
    /// What masked sums must keep, whatever the coordinator says.
    SumDemands demands() const noexcept;

  private:
    struct Promise;

    void vet_job(const wire::Message& message, const wire::Welcome& welcome);
    void vet_directions() const;
    void vet_shield() const;
    void vet_budget(const ShieldPlan& plan) const;
    void vet_heldout(Index heldout) const;
    void vet_missing() const;
    void vet_start(const wire::StartNotice& notice);
    void vet_features(const FeaturesMessage& message);
    void vet_filling(const FeaturesMessage& message);
    void vet_filled(const FillSums& sums) const;
    void vet_sum(const wire::Message& message, const SumRequest& request);
    void vet_upload(const Upload& upload);
    void vet_merge(const MergeState& state);
    void vet_centring(const wire::CentringRequest& request);
    void require_narrow(const char* what, Index width) const;
    void require_few(Index rank, Index patients) const;
    void open_page(const wire::Welcome& welcome);
    void book_sum(const SumRequest& request);
    void book_masked(const MaskedSum& sum);
    void book(const Disclosure& what, double honest = 0);
    DisclosureLimits limits(bool masked, double honest) const;
    std::string weakness_of(const NoisePlan& noise) const;
    double counted_honest(const ShieldPlan& plan) const;
    void require_masked_room(const ShieldPlan& plan) const;

    SitePolicy policy_;
    Index patients_;
    Shape features_;
    std::unique_ptr<Promise> promise_;  ///< of the job that began last
    DisclosureLedger* ledger_ = nullptr;
    const Tensor<double>* x_ = nullptr;
    const PrivacyBook* book_ = nullptr;
};

}  // namespace couplet::net
