#include "couplet/data/frequent_codes.hpp"

#include <algorithm>
#include <utility>

#include "couplet/core/error.hpp"

namespace couplet {

std::vector<std::string> frequent_codes(const CodeCounts& counts, Index wanted, const std::string& where,
                                        const std::string& what) {
    const auto available = static_cast<Index>(counts.size());
    if (wanted < 1 || wanted > available) {
        throw InputError({where, std::to_string(available) + " different " + what,
                          "at least the " + std::to_string(wanted) + " asked for, and that at least 1",
                          available < 1 ? "Check that the file is complete."
                                        : "Ask for a number from 1 to " + std::to_string(available) +
                                              ", or check that the file is complete."});
    }
    std::vector<std::pair<std::string, Index>> order(counts.begin(), counts.end());
    // Stable: the map's order decides ties.
    std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
    std::vector<std::string> codes;
    for (Index i = 0; i < wanted; ++i) codes.push_back(order[static_cast<std::size_t>(i)].first);
    return codes;
}

}  // namespace couplet
