#include "patience.hpp"

#include <algorithm>
#include <tuple>

namespace couplet::net {
namespace {

constexpr int most_jobs = 8;

}  // namespace

std::optional<std::chrono::milliseconds> Patience::left(Clock::time_point now) const {
    if (!deadline_) return std::nullopt;
    const auto gone = std::chrono::duration_cast<std::chrono::milliseconds>(waited(now));
    return std::max(std::chrono::milliseconds(1), *deadline_ - gone);
}

bool Patience::hear(const wire::Route& route, Clock::time_point now) {
    const bool same_job = newest_ && newest_->job == route.job;
    if (!same_job) {
        ++jobs_;
        if (is_led_on()) return false;
    }
    if (same_job && std::tie(newest_->attempt, newest_->step) >= std::tie(route.attempt, route.step)) return false;
    newest_ = route;
    since_ = now;
    return true;
}

bool Patience::is_led_on() const noexcept { return jobs_ > most_jobs; }

}  // namespace couplet::net
