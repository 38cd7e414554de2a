#pragma once

#include <chrono>
#include <cstdint>

#include "couplet/core/random.hpp"

namespace couplet::net {

/// How long to wait before the next attempt: doubles from `first` to `most`, each time a random part between a half and
/// the whole, so that clients of one outage do not come back in step. Owns no clock.
class Backoff {
  public:
    using Duration = std::chrono::milliseconds;
    Backoff(Duration first, Duration most, std::uint64_t seed)
        : first_(first), most_(most), next_(first), random_(seed) {}

    Duration next();
    /// After a success.
    void reset() { next_ = first_; }

  private:
    Duration first_;
    Duration most_;
    Duration next_;
    Random random_;
};

}  // namespace couplet::net
