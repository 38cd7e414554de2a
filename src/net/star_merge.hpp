#pragma once

#include <vector>

#include "couplet/ctt/saved_merge.hpp"
#include "job_desk.hpp"

namespace couplet::net {

/// One merge of these members, from their greetings to the features: asks them all and merges what they answer, in
/// their order. `earlier` are merged before them (stack). Throws Lost when one does not answer what can be used.
MergeOutcome merge_star(JobDesk& desk, const std::vector<Index>& members, std::vector<Contribution> earlier);

/// A start that asks for nothing: a client that comes back only computes what it needs itself.
Start publish_start(const JobDesk& desk, const std::vector<Index>& members);

}  // namespace couplet::net
