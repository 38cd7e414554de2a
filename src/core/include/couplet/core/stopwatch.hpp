#pragma once

#include <chrono>
#include <utility>

namespace couplet {

/// Seconds on a clock that is never set back.
class Stopwatch {
  public:
    Stopwatch() = default;
    /// Adds the seconds of its life to a number.
    explicit Stopwatch(double& seconds) : seconds_(&seconds) {}
    ~Stopwatch() {
        if (seconds_ != nullptr) *seconds_ += seconds_between(made_, Clock::now());
    }
    Stopwatch(const Stopwatch&) = delete;
    Stopwatch& operator=(const Stopwatch&) = delete;

    /// Seconds since it was made or this was last asked.
    double lap() {
        const Clock::time_point now = Clock::now();
        return seconds_between(std::exchange(lap_, now), now);
    }

  private:
    using Clock = std::chrono::steady_clock;
    static double seconds_between(Clock::time_point from, Clock::time_point to) {
        return std::chrono::duration<double>(to - from).count();
    }
    Clock::time_point made_ = Clock::now();
    Clock::time_point lap_ = made_;
    double* seconds_ = nullptr;
};

}  // namespace couplet
