#include "couplet/classify/folds.hpp"

#include <array>
#include <map>
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

}  // namespace

std::vector<Index> assign_folds(std::span<const Label> labels, std::span<const Index> sites, Index folds,
                                std::uint64_t seed) {
    const auto people = static_cast<Index>(labels.size());
    if (sites.size() != labels.size()) {
        throw InputError({"sites", std::to_string(sites.size()), std::to_string(people) + ", one per person", ""});
    }
    if (folds < 2 || folds > people) {
        throw InputError({"`folds`", std::to_string(folds),
                          "from 2 to the " + std::to_string(people) + " people with a label",
                          "Use fewer folds, or more people."});
    }
    std::vector<Fold> all(static_cast<std::size_t>(folds));
    std::vector<Index> result(labels.size());
    for (const Index person : sample_without_replacement(people, people, seed)) {
        const auto at = static_cast<std::size_t>(person);
        std::size_t best = 0;
        for (std::size_t f = 1; f < all.size(); ++f) {
            if (all[f].burden(sites[at], labels[at]) < all[best].burden(sites[at], labels[at])) best = f;
        }
        all[best].add(sites[at], labels[at]);
        result[at] = static_cast<Index>(best);
    }
    return result;
}

}  // namespace couplet
