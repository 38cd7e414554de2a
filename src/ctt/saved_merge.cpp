#include "couplet/ctt/saved_merge.hpp"

#include <algorithm>
#include <utility>

#include "couplet/core/error.hpp"

namespace couplet {

Ledger SavedMerge::ledger() const {
    Ledger sum;
    for (const Contribution& contribution : contributions) sum.add(contribution.state.ledger);
    return sum;
}

SavedMerge SavedMerge::clone() const {
    SavedMerge copy{job, scale_clients, schema, {}};
    for (const Contribution& contribution : contributions) copy.contributions.push_back(contribution.clone());
    return copy;
}

std::vector<std::string> SavedMerge::take_out(std::span<const std::string> clients) {
    std::vector<std::string> taken;
    std::erase_if(contributions, [&](const Contribution& contribution) {
        if (std::find(clients.begin(), clients.end(), contribution.client) == clients.end()) return false;
        taken.push_back(contribution.client);
        return true;
    });
    return taken;
}

std::vector<MergeState> SavedMerge::states() const {
    std::vector<MergeState> result;
    for (const Contribution& contribution : contributions) {
        result.push_back({contribution.state.block.clone(), contribution.state.ledger});
    }
    return result;
}

void require_resumable(const SavedMerge& merge, bool scale_clients, const std::string& where) {
    if (merge.scale_clients == scale_clients) return;
    const auto say = [](bool scaled) {
        return std::string("a merge of clients ") + (scaled ? "of norm 1" : "as they are");
    };
    throw InputError({where, say(merge.scale_clients), say(scale_clients),
                      merge.scale_clients ? "Use `scale_clients` norm, as it was begun."
                                          : "Leave `scale_clients` out, as it was begun."});
}

}  // namespace couplet
