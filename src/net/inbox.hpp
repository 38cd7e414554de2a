#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <utility>

namespace couplet::net {

/// Events from several threads for one that handles them, in order. Threads wait while it holds too many; how
/// large each may be is for those who make them to limit.
template <class Event>
class Inbox {
  public:
    explicit Inbox(std::size_t most) : most_(most) {}

    /// False once closed.
    bool put(Event event) {
        std::unique_lock lock(mutex_);
        taken_.wait(lock, [&] { return closed_ || events_.size() < most_; });
        if (closed_) return false;
        events_.push_back(std::move(event));
        put_.notify_one();
        return true;
    }
    /// Everything that is there; waits for the first, but not longer than `patience`.
    std::deque<Event> take(std::chrono::milliseconds patience) {
        std::unique_lock lock(mutex_);
        put_.wait_for(lock, patience, [&] { return closed_ || !events_.empty(); });
        std::deque<Event> all = std::exchange(events_, {});
        taken_.notify_all();
        return all;
    }
    /// Lets nobody wait any more.
    void close() {
        const std::lock_guard lock(mutex_);
        closed_ = true;
        put_.notify_all();
        taken_.notify_all();
    }

  private:
    std::size_t most_;
    std::mutex mutex_;
    std::condition_variable put_;
    std::condition_variable taken_;
    std::deque<Event> events_;
    bool closed_ = false;
};

}  // namespace couplet::net
