#include "couplet/ctt/budget.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "couplet/core/error.hpp"

namespace couplet {

void pay_for_centring(std::optional<Index>& bytes, std::optional<Index>& bytes_total, Index features,
                      const CentringOptions& options, const LinkCount& links) {
    if (!options.any()) return;
    const CentringTraffic each = centring_traffic(features, options);
    const auto cost = static_cast<Index>(std::ceil(each.bytes_up + each.bytes_down));
    const auto pay = [](const char* name, std::optional<Index>& budget, Index part) {
        if (!budget) return;
        if (*budget <= part) {
            throw InputError({name, std::to_string(*budget) + " bytes",
                              "more than the " + std::to_string(part) + " bytes of means and deviations",
                              "Allow more bytes, or leave `centre` and `scale` out."});
        }
        *budget -= part;
    };
    pay("`bytes`", bytes, cost * links.at_one);
    pay("`bytes_total`", bytes_total, cost * links.all);
}

LinkCount tree_links(const BfsTree& tree) {
    LinkCount links{static_cast<Index>(tree.parent.size()) - 1, 0};
    for (std::size_t k = 0; k < tree.parent.size(); ++k) {
        const Index up = tree.parent[k] >= 0 ? 1 : 0;
        links.at_one = std::max(links.at_one, up + static_cast<Index>(tree.children[k].size()));
    }
    return links;
}

}  // namespace couplet
