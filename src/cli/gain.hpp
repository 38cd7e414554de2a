#pragma once

#include <string>
#include <vector>

#include "couplet/ctt/blocks.hpp"
#include "couplet/ctt/job.hpp"
#include "couplet/ctt/prepare.hpp"
#include "couplet/sim/source.hpp"

namespace couplet::cli {

/// Relative squared errors on a site's held-out patients, whom nobody has learnt from.
struct ClientGain {
    double alone = 0;     ///< with features that the site learns by itself, by the same rank and errors
    double together = 0;  ///< with those of the federation
};

/// What each client gains by joining. `how` must be that of the job, so that the same patients are held out. Costs a
/// decomposition per client. Throws as simulate() does.
std::vector<ClientGain> measure_gain(const ClientSource& source, const JobOptions& job, const Preparation& how,
                                     const Schema& schema, const Features& features);

}  // namespace couplet::cli
