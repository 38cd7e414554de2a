#include "couplet/classify/folds.hpp"

#include <array>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "couplet/core/error.hpp"
#include "couplet/data/sample.hpp"

namespace couplet {
namespace {

/// How many people of each kind a fold has.
struct Fold {
    std::map<std::pair<Index, Label>, Index> of_class_at_site;
    std::map<Index, Index> of_site;
    std::map<Label, Index> of_class;
    Index all = 0;

    std::array<Index, 4> burden(Index site, Label label) {
        return {of_class_at_site[{site, label}], of_site[site], of_class[label], all};
    }
    void add(Index site, Label label) {
        ++of_class_at_site[{site, label}];
        ++of_site[site];
        ++of_class[label];
        ++all;
    }
};

/// The people that go to one fold together, by the first of them that is dealt.
class Companions {
  public:
    Companions(std::span<const Index> sites, std::span<const Index> groups) {
        std::map<Index, std::set<Index>> groups_of;
        for (std::size_t i = 0; i < groups.size(); ++i) groups_of[sites[i]].insert(groups[i]);
        for (std::size_t i = 0; i < groups.size(); ++i) {
            if (groups_of[sites[i]].size() < 2) continue;
            const auto [first, is_new] = place_.try_emplace(groups[i], members_.size());
            if (is_new) members_.emplace_back();
            members_[first->second].push_back(i);
        }
        groups_ = groups;
    }
    std::vector<std::size_t> of(std::size_t person) const {
        const auto found = groups_.empty() ? place_.end() : place_.find(groups_[person]);
        return found == place_.end() ? std::vector<std::size_t>{person} : members_[found->second];
    }

  private:
    std::span<const Index> groups_;
    std::map<Index, std::size_t> place_;
    std::vector<std::vector<std::size_t>> members_;
};

}  // namespace

std::vector<Index> assign_folds(std::span<const Label> labels, std::span<const Index> sites, Index folds,
                                std::uint64_t seed, std::span<const Index> groups) {
    const auto people = static_cast<Index>(labels.size());
    if (sites.size() != labels.size()) {
        throw InputError({"sites", std::to_string(sites.size()), std::to_string(people) + ", one per person", ""});
    }
    if (!groups.empty() && groups.size() != labels.size()) {
        throw InputError({"groups", std::to_string(groups.size()), std::to_string(people) + ", one per person", ""});
    }
    if (folds < 2 || folds > people) {
        throw InputError({"`folds`", std::to_string(folds),
                          "from 2 to the " + std::to_string(people) + " people with a label",
                          "Use fewer folds, or more people."});
    }
    std::vector<Fold> all(static_cast<std::size_t>(folds));
    const Companions companions(sites, groups);
    std::vector<Index> result(labels.size(), -1);
    for (const Index person : sample_without_replacement(people, people, seed)) {
        const auto at = static_cast<std::size_t>(person);
        if (result[at] >= 0) continue;
        std::size_t best = 0;
        for (std::size_t f = 1; f < all.size(); ++f) {
            if (all[f].burden(sites[at], labels[at]) < all[best].burden(sites[at], labels[at])) best = f;
        }
        for (const std::size_t one : companions.of(at)) {
            all[best].add(sites[one], labels[one]);
            result[one] = static_cast<Index>(best);
        }
    }
    return result;
}

}  // namespace couplet
