#pragma once

#include "couplet/net/coordinator.hpp"
#include "job_file.hpp"

namespace couplet::net {

/// Throws InputError for options that contradict each other or the kit. What is computed with is adjusted: rounding of
/// filled entries must stay below what counts as settled.
void check_options(const Kit& kit, CoordinatorOptions& options);

/// The job to run: the one in the kit if it is not closed, or if it has the same flags and not everybody in its result
/// has fetched it; with late_merge, one that lacks clients. Otherwise a new one, and that in the kit becomes
/// KIT/job.old. Nothing is changed before options.on_job() has agreed. Throws InputError for options that do not fit
/// the job in the kit.
JobFile open_job(const Kit& kit, const CoordinatorOptions& options);

}  // namespace couplet::net
