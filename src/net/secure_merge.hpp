#pragma once

#include <vector>

#include "couplet/secure/secure_messages.hpp"
#include "job_desk.hpp"

namespace couplet::net {

/// From the counts of patients to the features, over masked sums of these members. What was closed before an
/// interruption is taken from the spool, in the same order, so that it leads to the same place. `least` are the clients
/// without whom there is no sum; 0: as many as the masks need. Throws RunError when too many are lost or their patients
/// are too few: such a job has nothing to continue.
MergeOutcome merge_secure(JobDesk& desk, const std::vector<Index>& members, Notary notary, Index least);

}  // namespace couplet::net
