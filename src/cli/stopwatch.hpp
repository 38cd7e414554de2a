#pragma once

#include <chrono>
#include <utility>

namespace couplet::cli {

/// Seconds since it was made or last read.
class Stopwatch {
  public:
    double lap() {
        const Clock::time_point now = Clock::now();
        const std::chrono::duration<double> passed = now - std::exchange(start_, now);
        return passed.count();
    }

  private:
    using Clock = std::chrono::steady_clock;
    Clock::time_point start_ = Clock::now();
};

}  // namespace couplet::cli
