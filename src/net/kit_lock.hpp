#pragma once

#include "couplet/net/kit.hpp"

namespace couplet::net {

/// While it lives, no other process of this machine works with this kit: two would take each other's place at every
/// turn. The system gives the lock back when a process ends, however it ends.
class KitLock {
  public:
    /// Throws RunError when another process has it.
    explicit KitLock(const Kit& kit);
    ~KitLock();
    KitLock(const KitLock&) = delete;
    KitLock& operator=(const KitLock&) = delete;

    /// Whether somebody has it now.
    static bool is_held(const Kit& kit);

  private:
    int file_ = -1;
};

}  // namespace couplet::net
