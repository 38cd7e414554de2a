#pragma once

#include <optional>
#include <vector>

#include "couplet/net/coordinator.hpp"
#include "couplet/net/doubts.hpp"
#include "job_file.hpp"

namespace couplet::net {

/// What these clients say of their data before and after the job, in their order. `norms` are by place, as everybody
/// greeted; of a job that centred, the members' are those of the centred data.
std::vector<Claim> claims_of(const JobFile& job, const std::vector<Index>& places, const std::vector<double>& norms);

/// What speaks against the certificate `bound` of a job, as far as is known now.
std::vector<Doubt> doubts_of(const JobFile& job, const std::optional<double>& bound, const std::vector<double>& norms);

/// How the filling of missing entries went so far.
CompletionCourse course_of(const JobFile& job);

/// A job with a result.
struct FinishedJob {
    const JobFile& job;
    const FeaturesMessage& features;  ///< the newest
    const Schema& schema;
    const std::vector<double>& norms;  ///< by place, as everybody greeted
};
/// What a coordinator says of it; without seconds_server and seconds_total, which are the caller's. Doubts take the
/// certificate away.
CoordinatorResult make_coordinator_result(const FinishedJob& finished);

}  // namespace couplet::net
