#pragma once

#include <memory>
#include <optional>
#include <string>

#include "couplet/wire/message.hpp"

namespace couplet::wire {

/// A client's tensor in a job with missing entries: filled before anything is known of the features, and anew from
/// those of every iteration.
class FilledData {
  public:
    /// `place` counts from 0. Throws InputError for data that cannot take part.
    FilledData(const JobSpec& spec, std::shared_ptr<const Tensor<double>> x, Index place);

    /// As it takes part now.
    PreparedClient prepared() const { return {schema_, incomplete_->filled(), nullptr, 1}; }
    /// Puts the data in the job's order, and takes back what was filled in for an attempt that is over.
    void follow(const StartNotice& notice);
    /// Fits what is known to the features and fills the rest.
    FillSums fill(const FeaturesMessage& message);
    /// The same with the final features; the personal core is in the units of the data.
    PersonalFit fit(const FeaturesMessage& message);

    const Schema& schema() const noexcept { return schema_; }
    /// What of the data was put in the job's order, in words; empty: nothing.
    const std::string& reordered() const noexcept { return reordered_; }

  private:
    void fill_first();

    JobSpec spec_;
    std::shared_ptr<const Tensor<double>> x_;
    Index place_;
    Schema schema_;
    std::string reordered_;
    std::optional<IncompleteClient> incomplete_;
    bool refilled_ = false;
};

}  // namespace couplet::wire
