#pragma once

#include <memory>
#include <optional>
#include <string>

#include "centred_data.hpp"
#include "couplet/net/client.hpp"
#include "masked_work.hpp"

namespace couplet::net {

/// A client's work on one job, across connections: questions in, answers out. Knows no socket. What was answered is
/// kept, and sent again rather than computed again.
class ClientWork {
  public:
    /// `welcome` holds a wire::Welcome; the tools must outlive this. Throws InputError for data that cannot take part.
    ClientWork(const wire::Message& welcome, std::shared_ptr<const Tensor<double>> x, MaskingTools& tools);

    const wire::JobId& job() const noexcept { return job_; }
    bool is_masked() const noexcept { return masked_.has_value(); }
    wire::Message hello() const;
    /// What of the data was put in the job's order, in words; empty: nothing.
    const std::string& reordered() const;

    /// The answer to a question: a start, a request for a sum, a step of a secure one, a centring, or features to fill
    /// from. From before if it was asked before; null when none is wanted. Throws InputError for what the job cannot
    /// ask; one of secure sums asks for nothing else.
    const wire::Message* answer(const wire::Message& question);
    /// Takes the final features; told again nothing changes.
    void fit(FeaturesMessage message);
    /// What the coordinator is told then.
    wire::Message report();
    ClientResult& result();

  private:
    const wire::Message* answer_masked(const wire::Message& question);
    const wire::Message* answer_start(const wire::Route& route, const wire::StartNotice& notice);
    const wire::Message* answer_sum(const wire::Route& route, const SumRequest& request);
    const wire::Message* centre(const wire::Route& route, const wire::CentringRequest& request);
    const wire::Message* fill(const wire::Route& route, const FeaturesMessage& message);
    const wire::Message* keep(const wire::Route& route, wire::Body body);
    const wire::Message* keep_counted(const wire::Route& route, std::optional<FromClient> reply);
    bool is_known(const wire::Route& route) const { return answer_ && answer_->route == route; }
    SumRequest with_basis(const SumRequest& request);
    void show_filled();
    void begin(std::uint32_t attempt, const wire::StartNotice& notice);
    void doubt_bound(double error2);

    wire::JobId job_;
    wire::JobSpec spec_;
    double seconds_ = 0;
    std::optional<StarClient> star_;
    std::optional<wire::FilledData> filled_;  ///< of a job with missing entries
    std::optional<CentredData> centred_;      ///< of one that centres
    std::optional<MaskedWork> masked_;        ///< of one of secure sums
    Hello hello_;
    std::uint32_t attempt_ = 0;
    double all_norm2_ = 0;  ///< of everybody's data, as the start says
    Index clients_ = 0;     ///< in the job, as its start says
    Index sent_rank_ = 0;
    std::optional<wire::Message> answer_;
    wire::Report report_;
    ClientResult result_;
};

}  // namespace couplet::net
