#pragma once

#include <filesystem>
#include <optional>
#include <utility>

#include "couplet/core/error.hpp"

namespace couplet {

/// What is done where a lock cannot be had at once.
struct LockOptions {
    std::optional<ErrorParts> held = {};  ///< thrown as RunError when another has it; nothing: it is waited for
    bool make = true;      ///< a file that stands for the lock, made where it is missing; false: what is there
    bool required = true;  ///< false: the work goes on without a lock where there can be none
};

/// While it lives nobody else on this machine has a lock on the same file or folder, neither another process nor
/// another lock of this one: whoever reads, decides and writes under it loses nothing that another wrote. Nothing is
/// written to what is locked. The system gives it back when a process ends, however it ends.
class FileLock {
  public:
    /// Throws RunError, also where the file cannot be opened or its file system knows no locks.
    explicit FileLock(const std::filesystem::path& path, const LockOptions& options = {});
    ~FileLock();
    FileLock(FileLock&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
    FileLock(const FileLock&) = delete;
    FileLock& operator=(const FileLock&) = delete;

    /// Whether somebody has it now.
    static bool is_held(const std::filesystem::path& path) noexcept;

  private:
    int descriptor_ = -1;
};

/// One writer of a folder at a time: held while a result of several files is written there, so that two runs can
/// neither mix their files nor remove each other's. The folder itself is locked and nothing is left in it; file systems
/// that know no locks do without. Throws RunError when another run has it.
FileLock lock_folder(const std::filesystem::path& folder);

}  // namespace couplet
