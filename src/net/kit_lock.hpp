#pragma once

#include "couplet/net/kit.hpp"

namespace couplet::net {

/// While it lives, no other process works with the job of this kit. The system gives the lock back when a process ends,
/// however it ends.
class KitLock {
  public:
    /// Throws RunError when another coordinator has it.
    explicit KitLock(const Kit& kit);
    ~KitLock();
    KitLock(const KitLock&) = delete;
    KitLock& operator=(const KitLock&) = delete;

  private:
    int file_ = -1;
};

}  // namespace couplet::net
