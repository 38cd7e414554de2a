#include "contributions.hpp"

#include <algorithm>

namespace couplet::net {
namespace {

bool stacks(const JobFile& job) { return job.spec.job.aggregate == Aggregate::stack; }
const std::string& name_of(const JobFile& job, Index place) { return job.roster[static_cast<std::size_t>(place)]; }

/// Who contributed with which attempt, in the order of merging.
std::vector<std::pair<std::uint32_t, Index>> merged_in_order(const JobFile& job) {
    std::vector<std::pair<std::uint32_t, Index>> result;
    if (!stacks(job)) return result;
    if (job.result != 0) {
        for (const Index place : job.members) result.emplace_back(job.result, place);
    }
    for (std::size_t i = 0; i < job.late.size(); ++i) result.emplace_back(job.late_results[i], job.late[i]);
    return result;
}

}  // namespace

std::vector<Contribution> contributions(const JobFile& job, const JobFolder& folder) {
    std::vector<Contribution> result;
    if (!stacks(job)) return result;
    for (const std::size_t i : job.still_resumed()) result.push_back({job.resumed[i], folder.resumed(i)});
    for (const auto& [attempt, place] : merged_in_order(job)) {
        const std::string& name = name_of(job, place);
        result.push_back({name, folder.contribution(attempt, place, "client " + name)});
    }
    return result;
}

std::vector<Contribution> contributions_of_others(const JobFile& job, const JobFolder& folder,
                                                  const std::vector<Index>& places) {
    std::vector<Contribution> result;
    for (Contribution& contribution : contributions(job, folder)) {
        const bool again = std::any_of(places.begin(), places.end(),
                                       [&](Index place) { return name_of(job, place) == contribution.client; });
        if (!again) result.push_back(std::move(contribution));
    }
    return result;
}

std::vector<Contribution> contributions_before(JobFile job, const JobFolder& folder, std::vector<Index> members) {
    job.members = std::move(members);
    job.late.clear();
    job.late_results.clear();
    job.result = 0;
    return contributions_of_others(job, folder, {});
}

std::vector<Contribution> contributions_before_late(JobFile job, const JobFolder& folder, std::size_t late) {
    const Index place = job.late[late];
    job.late.resize(late);
    job.late_results.resize(late);
    return contributions_of_others(job, folder, {place});
}

std::set<std::pair<std::uint32_t, Index>> merged_uploads(const JobFile& job) {
    const auto merged = merged_in_order(job);
    return {merged.begin(), merged.end()};
}

}  // namespace couplet::net
