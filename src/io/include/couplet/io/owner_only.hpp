#pragma once

#include <sys/stat.h>

#include <mutex>

namespace couplet {

/// While it lives, files are made for their owner alone: patients are in them. Of the whole process, so that another
/// thread's file may be more private than it asked for, never less.
class OwnerOnly {
  public:
    OwnerOnly() : lock_(mutex_), before_(::umask(077)) {}
    ~OwnerOnly() { ::umask(before_); }
    OwnerOnly(const OwnerOnly&) = delete;
    OwnerOnly& operator=(const OwnerOnly&) = delete;

  private:
    static inline std::mutex mutex_;
    std::lock_guard<std::mutex> lock_;
    mode_t before_;
};

}  // namespace couplet
