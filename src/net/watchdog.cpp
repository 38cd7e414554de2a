#include "watchdog.hpp"

#include <algorithm>
#include <utility>

namespace couplet::net {

Watchdog::Watchdog() : thread_([this] { run(); }) {}

Watchdog::~Watchdog() {
    {
        const std::lock_guard lock(mutex_);
        ending_ = true;
        changed_.notify_all();
    }
    thread_.join();
}

void Watchdog::arm(const void* key, std::chrono::milliseconds patience, std::function<void()> bark) {
    const std::lock_guard lock(mutex_);
    watches_[key] = {Clock::now() + patience, std::move(bark)};
    changed_.notify_all();
}

void Watchdog::disarm(const void* key) {
    const std::lock_guard lock(mutex_);
    watches_.erase(key);
}

void Watchdog::run() {
    std::unique_lock lock(mutex_);
    while (!ending_) {
        const auto now = Clock::now();
        auto wake = now + std::chrono::hours(1);
        for (auto at = watches_.begin(); at != watches_.end();) {
            if (at->second.until > now) {
                wake = std::min(wake, at->second.until);
                ++at;
                continue;
            }
            // Under the lock, so that disarm() can promise that it is not running.
            at->second.bark();
            at = watches_.erase(at);
        }
        changed_.wait_until(lock, wake);
    }
}

}  // namespace couplet::net
