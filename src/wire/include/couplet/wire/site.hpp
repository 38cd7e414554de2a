#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "couplet/secure/secure_client.hpp"
#include "couplet/wire/filled_data.hpp"
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
    std::optional<ShieldReport> shield = {};  ///< of a job of secure sums
};

/// Hears every message before it is answered and every answer before it is sent; throws InputError to refuse.
using Vetting = std::function<void(const Message& message)>;

/// What a site has been asked for since it made the keys of its secure sums: what it must come back to when it forgets
/// between messages.
struct SumJournal {
    Key root{};            ///< that the secrets come from
    std::string requests;  ///< packed, in order
};

/// What a site of a job of secure sums needs besides its data.
struct SecureTools {
    Notary notary;
    SumDemands demands = {};
    SumRecord record = {};    ///< of this job, from before
    SumJournal journal = {};  ///< likewise
    /// Makes it durable before a share is revealed.
    std::function<void(const SumRecord&)> on_record = {};
    /// Makes it durable before a step is answered: no step is answered twice.
    std::function<void(const SumJournal&)> on_step = {};
    /// Hears what the job has come to before the first sum over the data; throws InputError to refuse.
    std::function<void(const ShieldPlan&)> on_plan = {};
    /// Hears of every sum, as SecureClient::Options.
    std::function<void(const MaskedSum&)> on_sum = {};
};

struct SiteOptions {
    Vetting vet = {};
    std::function<SecureTools(const JobId& job)> secure = {};  ///< nothing: secure sums are refused
};

/// Whether features end the job, and are not there to fill missing entries from.
inline bool is_final(const FeaturesMessage& message) { return !message.filling || message.filling->last; }

/// Takes the final features of the data that one of the two holds, `filled` in a job with missing entries: what they
/// come to is in `result`, and what the coordinator is told of it is returned, without the time.
Report take_final(FeaturesMessage message, const JobSpec& spec, StarClient& star, FilledData* filled, Index sent_rank,
                  SiteResult& result);

/// Throws InputError for a job with a centring: whoever carries its messages here does not know those of the sums.
void refuse_centring(const JobSpec& spec);

/// A client's work on one job: messages in, messages out. Everything follows from the welcome, the data and the
/// questions, so whoever has forgotten is told them again (see StarJob::question()) and goes on with the same bits.
class Site {
  public:
    /// `welcome` holds a Welcome. Throws InputError for data that cannot take part.
    Site(const Message& welcome, std::shared_ptr<const Tensor<double>> x, SiteOptions options = {});

    const JobId& job() const noexcept { return job_; }
    const std::string& reordered() const noexcept { return filled_ ? filled_->reordered() : star_->reordered(); }
    Message hello() const;

    /// The answer to a question that is a start, a request for a sum, a step of a secure one, or features to fill from;
    /// from before if it was asked before; null when none is wanted.
    const Message* answer(const Message& question);
    /// Takes the final features.
    void fit(FeaturesMessage message);
    /// What the coordinator is told then.
    Message report();
    SiteResult& result();

  private:
    PreparedClient prepare_complete(std::shared_ptr<const Tensor<double>> x) const;
    void show();
    /// Fits what is known to the features and fills the rest.
    const Message* fill(const Route& route, const FeaturesMessage& message);
    /// The first basis comes from the seed and does not travel.
    SumRequest complete(const SumRequest& request);
    void compute(const StartNotice& notice);
    void count(double numbers, Index bytes);
    void begin_secure(const Start& start);
    void join_secure();
    const Message* answer_secure(const Message& question, const SecureRequest& request);
    ShieldReport shield_report() const;

    SiteOptions options_;
    JobId job_;
    JobSpec spec_;
    Index place_ = 0;
    double seconds_ = 0;
    std::optional<StarClient> star_;
    std::optional<FilledData> filled_;  ///< of a job with missing entries
    Hello hello_;
    Index sent_rank_ = 0;
    std::optional<Message> answer_;
    Report report_;
    SiteResult result_;
    // Of a job of secure sums.
    std::optional<SecureTools> tools_;
    std::unique_ptr<SecureClient> secure_;
    std::optional<Start> secure_start_;  ///< how a job of secure sums began
    Key next_root_{};
};

/// What a site that keeps nothing between questions says.
struct Answer {
    std::string reply;                      ///< packed: a hello to a welcome alone, a report to final features
    std::optional<SiteResult> result = {};  ///< with final features
};
/// Works through packed messages: a welcome and what follows it, of which the last is the question. Throws InputError
/// for messages that make no question, for data that cannot take part, and what the vetting throws.
Answer answer_all(std::string_view messages, std::shared_ptr<const Tensor<double>> x, const SiteOptions& options = {});

}  // namespace couplet::wire
