#include "centre.hpp"

#include <algorithm>

namespace couplet {
namespace {

/// Groups tiny modes at an end until they are worth a pass over the data: twice the rank, at least 10.
End group_end(const Centre& centre, Side side, const std::vector<BondLimit>& limits) {
    constexpr Index least = 10;
    constexpr Index unknown_rank = 16;
    const std::size_t available = centre.last - centre.first - 1;
    const auto size_at = [&](std::size_t i) {
        return side == Side::left ? centre.modes[centre.first + i] : centre.modes[centre.last - 1 - i];
    };
    const auto worth = [&](std::size_t j) {
        const Index rank = limit_at(centre, limits, side, j).max_rank;
        return std::max(least, 2 * (rank == unlimited_rank ? unknown_rank : std::min(rank, centre.size())));
    };
    End end{side, 1, (side == Side::left ? centre.left : centre.right) * size_at(0)};
    while (end.count < available && end.own < worth(end.count - 1)) {
        const Index grown = end.own * size_at(end.count);
        if (grown > centre.size() / grown) break;  // the group must stay the short side
        end.own = grown;
        ++end.count;
    }
    return end;
}

/// Flops of peeling `first` and then `second`, each cut to its rank: a Gram matrix and a projection, per element.
double cost_of(const Centre& centre, const End& first, Index first_rank, const End& second, Index second_rank) {
    const auto size = static_cast<double>(centre.size());
    const double left_over = size * static_cast<double>(first_rank) / static_cast<double>(first.own);
    return size * static_cast<double>(first.own + 2 * first_rank) +
           left_over * static_cast<double>(second.own + 2 * second_rank);
}

}  // namespace

const BondLimit& limit_at(const Centre& centre, const std::vector<BondLimit>& limits, Side side, std::size_t j) {
    return limits[side == Side::left ? centre.first + j : centre.last - 2 - j];
}

End choose_end(const Centre& centre, const std::vector<BondLimit>& limits, Offered offered) {
    const End right = group_end(centre, Side::right, limits);
    if (offered == Offered::right) return right;
    const End left = group_end(centre, Side::left, limits);
    const Index left_rank = limit_at(centre, limits, Side::left, left.count - 1).max_rank;
    const Index right_rank = limit_at(centre, limits, Side::right, right.count - 1).max_rank;
    if (left_rank < left.own && right_rank < right.own) {
        const double left_first = cost_of(centre, left, left_rank, right, right_rank);
        const double right_first = cost_of(centre, right, right_rank, left, left_rank);
        // The order decides which truncation the other one sees, and with it the error in its third digit: that of the
        // usual sweep from the left is kept where the other way round saves little.
        constexpr double worth_it = 0.9;
        return right_first < worth_it * left_first ? right : left;
    }
    return left.own < right.own ? left : right;
}

Centre start_centre(const Shape& shape) {
    Centre centre;
    for (const Index size : shape.sizes()) {
        if (size > 1) centre.modes.push_back(size);
    }
    if (centre.modes.empty()) centre.modes.push_back(1);
    centre.last = centre.modes.size();
    return centre;
}

}  // namespace couplet
