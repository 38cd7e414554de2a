#pragma once

#include <optional>
#include <vector>

#include "couplet/ctt/saved_merge.hpp"
#include "couplet/net/coordinator.hpp"
#include "couplet/net/doubts.hpp"
#include "job_file.hpp"
#include "message_count.hpp"

namespace couplet::net {

/// What these clients say of their data before and after the job, in their order. `norms` are by place, as everybody
/// greeted; of a job that centred, the members' are those of the centred data.
std::vector<Claim> claims_of(const JobFile& job, const std::vector<Index>& places, const std::vector<double>& norms);

/// The same of what was merged before.
std::vector<Claim> claims_of(const std::vector<Contribution>& contributions);

/// Clients of these places, and those merged `earlier`, whose norm makes a certificate meaningless: as they greeted,
/// and of a job that centred, as it is then, too.
std::vector<Doubt> doubted_norms(const JobFile& job, const std::vector<Index>& places, const std::vector<double>& norms,
                                 const std::vector<Claim>& earlier);

/// What was said and promised in a job of a stack that has a result.
struct Statements {
    std::vector<double> norms;                  ///< squared, by place, as everybody greeted
    std::vector<double> resumed;                ///< the same of those merged before, as JobFile::resumed
    std::vector<std::optional<double>> bounds;  ///< of the members' features, then of those merged late, each its own
};

/// What speaks against the certificates of a job, as far as is known now: norms that hide everybody else's, other norms
/// in reports than in greetings, and errors above the bound that came with the features.
std::vector<Doubt> doubts_of(const JobFile& job, const Statements& said);

/// How the filling of missing entries went so far.
CompletionCourse course_of(const JobFile& job);

/// A job with a result.
struct FinishedJob {
    const JobFile& job;
    const FeaturesMessage& features;  ///< the newest
    const Schema& schema;
    const Statements& said;
};
/// What a coordinator says of it; without seconds_server and seconds_total, which are the caller's. Doubts take the
/// certificate away.
CoordinatorResult make_coordinator_result(const FinishedJob& finished);
/// Books what has passed between the coordinator and everybody on the roster: all bytes of a job of secure sums, and of
/// any job those that no round has.
void add_messages(const std::vector<MessageCount>& counted, CoordinatorResult& result);

}  // namespace couplet::net
