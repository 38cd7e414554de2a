#pragma once

#include <vector>

#include "job_desk.hpp"

namespace couplet::net {

/// Has the members of an attempt fill their missing entries from its features, and begins the next one. The last one
/// has nothing to merge: its features are those of the one before, final, and the job delivers. Throws Lost when a
/// member does not answer what can be used.
void fill_members(JobDesk& desk, MergeOutcome outcome, const std::vector<Index>& members, std::uint32_t attempt);

}  // namespace couplet::net
