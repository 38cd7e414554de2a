#pragma once

#include <filesystem>

namespace couplet::net {

/// While it lives, no other process changes the files that this lock stands for: whoever reads, decides and writes
/// does it under the lock, so that nothing another process wrote is lost. The system gives it back when a process ends,
/// however it ends. Two locks of one process exclude each other too.
class FileLock {
  public:
    /// Waits for it. `file` is made where it is missing, and never written to. Throws RunError where that cannot be.
    explicit FileLock(const std::filesystem::path& file);
    ~FileLock();
    FileLock(const FileLock&) = delete;
    FileLock& operator=(const FileLock&) = delete;

  private:
    int descriptor_ = -1;
};

}  // namespace couplet::net
