#include "patience.hpp"

#include <algorithm>
#include <tuple>

namespace couplet::net {
namespace {

constexpr int most_jobs = 8;
constexpr Index most_attempts = 8;         ///< of one job, that begin it anew
constexpr std::uint32_t most_steps = 256;  ///< of one attempt; secure sums of many passes have some dozens

/// Of two jobs nobody knows which is newer.
bool is_newer(const wire::Route& route, const wire::Route& than) {
    return route.job != than.job || std::tie(route.attempt, route.step) > std::tie(than.attempt, than.step);
}

}  // namespace

std::optional<std::chrono::milliseconds> Patience::left(Clock::time_point now) const {
    if (!deadline_) return std::nullopt;
    const auto gone = std::chrono::duration_cast<std::chrono::milliseconds>(waited(now));
    return std::max(std::chrono::milliseconds(1), *deadline_ - gone);
}

bool Patience::hear(const wire::Route& route, Clock::time_point now, bool begins) {
    if (newest_ && !is_newer(route, *newest_)) return false;
    if (!newest_ || newest_->job != route.job) {
        ++jobs_;
        attempts_ = 0;
        iterations_ = 0;
    } else if (begins || newest_->attempt != route.attempt) {
        ++attempts_;
    }
    newest_ = route;
    return is_progress(route, now);
}

bool Patience::answer(const wire::Route& route, Clock::time_point now) {
    if (answered_ && !is_newer(route, *answered_)) return false;
    answered_ = route;
    return is_progress(route, now);
}

bool Patience::is_progress(const wire::Route& route, Clock::time_point now) {
    if (is_led_on() || route.step > most_steps) return false;
    since_ = now;
    return true;
}

bool Patience::is_led_on() const noexcept { return jobs_ > most_jobs || attempts_ > most_attempts + iterations_; }

}  // namespace couplet::net
