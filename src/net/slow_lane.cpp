#include "slow_lane.hpp"

namespace couplet::net {

void SlowLane::put(Index neighbour) {
    const std::lock_guard lock(mutex_);
    until_[neighbour] = Clock::now() + stay_;
}

void SlowLane::wait(Index neighbour) {
    std::unique_lock lock(mutex_);
    const auto found = until_.find(neighbour);
    if (found == until_.end()) return;
    if (Clock::now() >= found->second) {
        until_.erase(found);
        return;
    }
    closing_.wait_for(lock, pause_, [this] { return closed_; });
}

void SlowLane::close() {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    closing_.notify_all();
}

}  // namespace couplet::net
