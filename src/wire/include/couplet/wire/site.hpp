#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "couplet/wire/message.hpp"

namespace couplet::wire {

/// What a client has at the end of a job. The personal core is in the units of its data and never left the process.
struct SiteResult {
    std::string job;
    JobSpec spec;
    Features features;
    Schema schema;          ///< of the features, in their order
    std::string reordered;  ///< what of the data was put in that order, in words; empty: nothing
    Matrix<double> personal;
    std::optional<double> rel_error_bound;
    double rse = 0;
    std::optional<double> rse_heldout;
    std::optional<bool> settled;  ///< with missing entries: whether what was filled in had come to rest
    Index personal_rank = 0;
    std::vector<std::string> members;  ///< who is in the result
    std::vector<std::string> missing;
    Index rounds = 0;
    double numbers_up = 0;
    double numbers_down = 0;
    double bytes_up = 0;
    double bytes_down = 0;
    double seconds_client = 0;
    double seconds_total = 0;
};

/// Whether features end the job, and are not there to fill missing entries from.
inline bool is_final(const FeaturesMessage& message) { return !message.filling || message.filling->last; }

/// Throws InputError for a job with a centring: whoever carries its messages here does not know those of the sums.
void refuse_centring(const JobSpec& spec);

/// A client's work on one job: messages in, messages out. Everything follows from the welcome, the data and the
/// questions, so whoever has forgotten is told them again (see StarJob::question()) and goes on with the same bits.
class Site {
  public:
    /// `welcome` holds a Welcome. Throws InputError for data that cannot take part.
    Site(const Message& welcome, std::shared_ptr<const Tensor<double>> x);

    const JobId& job() const noexcept { return job_; }
    const std::string& reordered() const noexcept { return spec_.missing ? reordered_ : star_->reordered(); }
    Message hello() const { return {{protocol_version, job_, 0, 0}, hello_}; }

    /// The answer to a question that is a start, a request for a sum, or features to fill from; from before if it was
    /// asked before; null when none is wanted.
    const Message* answer(const Message& question);
    /// Takes the final features.
    void fit(FeaturesMessage message);
    /// What the coordinator is told then.
    Message report();
    SiteResult& result();

  private:
    PreparedClient prepare_complete(std::shared_ptr<const Tensor<double>> x) const;
    /// The tensor as it is filled before anything is known of the features.
    void fill_first();
    void show();
    /// Puts the data in the job's order, and takes back what was filled in for an attempt that is over.
    void follow(const StartNotice& notice);
    /// Fits what is known to the features and fills the rest.
    const Message* fill(const Route& route, const FeaturesMessage& message);
    /// The first basis comes from the seed and does not travel.
    SumRequest complete(const SumRequest& request);
    void compute(const StartNotice& notice);
    void count(double numbers, Index bytes);

    JobId job_;
    JobSpec spec_;
    Index place_ = 0;
    double seconds_ = 0;
    std::optional<StarClient> star_;
    // Of a job with missing entries.
    std::shared_ptr<const Tensor<double>> x_;
    Schema schema_;
    std::string reordered_;
    std::optional<IncompleteClient> incomplete_;
    bool refilled_ = false;
    Hello hello_;
    Index sent_rank_ = 0;
    std::optional<Message> answer_;
    Report report_;
    SiteResult result_;
};

/// What a site that keeps nothing between questions says.
struct Answer {
    std::string reply;                      ///< packed: a hello to a welcome alone, a report to final features
    std::optional<SiteResult> result = {};  ///< with final features
};
/// Hears every message before it is answered and every answer before it is sent; throws InputError to refuse.
using Vetting = std::function<void(const Message& message)>;
/// Works through packed messages: a welcome and what follows it, of which the last is the question. Throws InputError
/// for messages that make no question, for data that cannot take part, and what `vet` throws.
Answer answer_all(std::string_view messages, std::shared_ptr<const Tensor<double>> x, const Vetting& vet = {});

}  // namespace couplet::wire
