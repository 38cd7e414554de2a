#include "early_mail.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace couplet::net {
namespace {

// A neighbour that has begun an epoch can send a few messages of it before its commit has come here.
constexpr std::ptrdiff_t most_early = 16;
// Messages of earlier epochs than these are on no link any more, and their marks may come again.
constexpr std::size_t most_over = 64;

std::uint32_t mark_of(const Arrived& arrived) { return arrived.message.route.attempt; }

}  // namespace

std::optional<Arrived> EarlyMail::sort(Arrived arrived) {
    const std::uint32_t mark = mark_of(arrived);
    if (current_ == mark) return arrived;
    if (std::find(over_.begin(), over_.end(), mark) != over_.end()) return std::nullopt;
    std::erase_if(early_,
                  [&](const Arrived& other) { return other.neighbour == arrived.neighbour && mark_of(other) != mark; });
    const auto waiting = std::count_if(early_.begin(), early_.end(),
                                       [&](const Arrived& other) { return other.neighbour == arrived.neighbour; });
    if (waiting < most_early) early_.push_back(std::move(arrived));
    return std::nullopt;
}

std::vector<Arrived> EarlyMail::begin(std::uint64_t epoch) {
    if (current_) over_.push_back(*current_);
    if (over_.size() > most_over) over_.pop_front();
    current_ = mark(epoch);
    const auto others =
        std::stable_partition(early_.begin(), early_.end(), [&](const Arrived& a) { return mark_of(a) == *current_; });
    std::vector<Arrived> mine(std::make_move_iterator(early_.begin()), std::make_move_iterator(others));
    early_.erase(early_.begin(), others);
    return mine;
}

void EarlyMail::forget(Index neighbour) {
    std::erase_if(early_, [&](const Arrived& arrived) { return arrived.neighbour == neighbour; });
}

}  // namespace couplet::net
