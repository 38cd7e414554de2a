#pragma once

#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>

#include "couplet/tensor/shape.hpp"

namespace couplet::net {

/// Neighbours that pass on what nobody has signed. A signature costs more to check than to invent: such a neighbour is
/// read at a bounded rate for a while, and the others have the time that it would take. For several threads.
class SlowLane {
  public:
    using Clock = std::chrono::steady_clock;

    explicit SlowLane(std::chrono::milliseconds pause = std::chrono::seconds(1),
                      std::chrono::milliseconds stay = std::chrono::seconds(10))
        : pause_(pause), stay_(stay) {}

    /// It has just been caught.
    void put(Index neighbour);
    /// For whoever reads from it, after every message: returns at once for all others, and after a pause for it.
    void wait(Index neighbour);
    /// Lets nobody wait any more.
    void close();

  private:
    std::chrono::milliseconds pause_;
    std::chrono::milliseconds stay_;
    std::mutex mutex_;
    std::condition_variable closing_;
    std::map<Index, Clock::time_point> until_;
    bool closed_ = false;
};

}  // namespace couplet::net
