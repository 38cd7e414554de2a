#pragma once

#include <filesystem>

namespace couplet {

/// One writer of a folder at a time: held while a result of several files is written there, so that two runs can
/// neither mix their files nor remove each other's. The folder itself is locked, nothing is left in it, and a process
/// that is killed lets go. File systems that know no locks do without.
class FolderLock {
  public:
    /// Throws RunError when another run holds the folder, which must exist.
    explicit FolderLock(const std::filesystem::path& folder);
    ~FolderLock();
    FolderLock(const FolderLock&) = delete;
    FolderLock& operator=(const FolderLock&) = delete;

  private:
    int folder_ = -1;
};

}  // namespace couplet
