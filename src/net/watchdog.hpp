#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <thread>

namespace couplet::net {

/// Calls back when something that was promised does not come in time: a stream that stalls holds a thread, and reading
/// from it cannot be interrupted any other way.
class Watchdog {
  public:
    using Clock = std::chrono::steady_clock;
    Watchdog();
    ~Watchdog();
    Watchdog(const Watchdog&) = delete;
    Watchdog& operator=(const Watchdog&) = delete;

    /// Calls `bark` once unless disarm(key) comes within `patience`. Arming again starts anew.
    void arm(const void* key, std::chrono::milliseconds patience, std::function<void()> bark);
    /// After this returns `bark` is not running and will not run.
    void disarm(const void* key);

  private:
    struct Watch {
        Clock::time_point until;
        std::function<void()> bark;
    };
    void run();

    std::mutex mutex_;
    std::condition_variable changed_;
    std::map<const void*, Watch> watches_;
    bool ending_ = false;
    std::thread thread_;
};

}  // namespace couplet::net
