#pragma once

#include <memory>
#include <string>

#include "couplet/ctt/centring.hpp"
#include "couplet/ctt/prepare.hpp"
#include "couplet/wire/message.hpp"

namespace couplet::net {

/// A client's data without missing entries, as a job takes it. Throws InputError, with what can be done about it, for
/// data that has some.
PreparedClient prepare_complete(std::shared_ptr<const Tensor<double>> x, const Preparation& how, std::uint64_t seed,
                                Index place);

/// The job as it is after centring: means and deviations have had their part of a budget of bytes. Throws InputError
/// when nothing is left.
Job paid_job(const wire::JobSpec& spec, const Shape& features, Index clients);

/// A client's data in a job that centres: kept as it is, in the job's order, so that it can be moved by sums over
/// everybody's, and again by those of fewer.
class CentredData {
  public:
    CentredData(const wire::JobSpec& spec, std::shared_ptr<const Tensor<double>> x, Index place);

    /// Puts the data in the order of the job's start. Data that changes by it is not moved any more.
    void follow(const Start& start);
    /// Over the patients who take part, of the data as it is.
    Released<std::vector<double>> sums() const;
    /// False when it is moved by this already.
    bool move(const Centring& by);
    /// As it was moved last; throws RunError before.
    const PreparedClient& moved() const;

    /// By what it was moved; empty: it is as it was.
    const Centring& centring() const noexcept { return centring_; }
    /// What was put in the job's order, in words.
    const std::string& reordered() const noexcept { return reordered_; }

  private:
    wire::JobSpec spec_;
    std::shared_ptr<const Tensor<double>> x_;
    Index place_;
    Schema schema_;  ///< of x_
    std::string reordered_;
    Centring centring_;
    std::optional<PreparedClient> moved_;
};

}  // namespace couplet::net
