#pragma once

#include <filesystem>
#include <functional>
#include <vector>

namespace couplet {

/// A folder for what a run writes, made with those above it where they are missing. When it goes, the ones that it made
/// and that hold nothing are removed, so that a run that failed leaves none behind.
class MadeFolder {
  public:
    /// Throws InputError where there is none and none can be made.
    explicit MadeFolder(std::filesystem::path folder);
    ~MadeFolder();
    MadeFolder(const MadeFolder&) = delete;
    MadeFolder& operator=(const MadeFolder&) = delete;

    const std::filesystem::path& path() const noexcept { return folder_; }

  private:
    std::filesystem::path folder_;
    std::vector<std::filesystem::path> made_;  ///< innermost first
};

/// Calls `clean`, which takes away what is half-written, removes what every MadeFolder that lives would remove, and
/// lets none make or remove any from the call on: for a process that is about to end while others are at work.
void remove_made_folders(const std::function<void()>& clean);

}  // namespace couplet
