#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "couplet/ctt/saved_merge.hpp"
#include "job_folder.hpp"

namespace couplet::net {

// What a stack is merged from stays in the job's folder, by client: a merge can then be made again with one client
// more, or another upload of one.

/// Everything that was merged, by client and in the order of merging, as the job file has it.
std::vector<Contribution> contributions(const JobFile& job, const JobFolder& folder);
/// The same without what clients of these places contributed: they send again.
std::vector<Contribution> contributions_of_others(const JobFile& job, const JobFolder& folder,
                                                  const std::vector<Index>& places);
/// What an attempt of these members began from: whatever was merged before the job by clients who are not among them.
std::vector<Contribution> contributions_before(JobFile job, const JobFolder& folder, std::vector<Index> members);
/// What the merge of the client that came late as number `late` began from.
std::vector<Contribution> contributions_before_late(JobFile job, const JobFolder& folder, std::size_t late);
/// Uploads that a later merge needs, by attempt and place: all others can be removed.
std::set<std::pair<std::uint32_t, Index>> merged_uploads(const JobFile& job);

}  // namespace couplet::net
