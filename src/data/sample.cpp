#include "couplet/data/sample.hpp"

#include <numeric>
#include <string>
#include <utility>

#include "couplet/core/error.hpp"
#include "couplet/core/random.hpp"

namespace couplet {

std::vector<Index> sample_without_replacement(Index total, Index count, std::uint64_t seed) {
    if (count < 0 || count > total) {
        throw InputError({"count", std::to_string(count), "a number from 0 to " + std::to_string(total), ""});
    }
    std::vector<Index> order(static_cast<std::size_t>(total));
    std::iota(order.begin(), order.end(), Index{0});
    Random random(seed);
    // Fisher-Yates, stopped when the wanted front is settled.
    for (Index i = 0; i < count; ++i) {
        const Index j = i + static_cast<Index>(random.below(static_cast<std::uint64_t>(total - i)));
        std::swap(order[static_cast<std::size_t>(i)], order[static_cast<std::size_t>(j)]);
    }
    order.resize(static_cast<std::size_t>(count));
    return order;
}

}  // namespace couplet
