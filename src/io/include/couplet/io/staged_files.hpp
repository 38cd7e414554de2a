#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace couplet {

/// While it lives, files that belong together get their names: whoever ends the process on a signal waits for it with
/// end_commits(). Blocks for ever once that was called.
class CommitTogether {
  public:
    CommitTogether();
    ~CommitTogether();
    CommitTogether(const CommitTogether&) = delete;
    CommitTogether& operator=(const CommitTogether&) = delete;
};

/// Returns when no CommitTogether lives, and lets none begin any more: for a process that is about to end.
void end_commits() noexcept;

/// Several files that appear together or not at all: they are written in a folder of their own inside their place and
/// moved there by commit(). Destroyed without commit(), nothing is left behind. The folder has a name that
/// AtomicFile's temporary files have, so that what cleans up after a process finds it.
class StagedFiles {
  public:
    /// `place` must exist. Throws RunError when no folder can be made in it.
    explicit StagedFiles(std::filesystem::path place);
    ~StagedFiles();
    StagedFiles(const StagedFiles&) = delete;
    StagedFiles& operator=(const StagedFiles&) = delete;

    /// Where the file of this name is to be written, before commit().
    std::filesystem::path add(const std::string& name);
    const std::vector<std::string>& names() const noexcept { return names_; }
    /// Removes `stale` files of the place and moves all files there, in the order in which they were added. Throws
    /// InputError, and takes back what was moved, when one of the names is taken and `overwrite` is false; RunError
    /// when the disk fails.
    void commit(bool overwrite, const std::vector<std::filesystem::path>& stale = {});

  private:
    std::filesystem::path place_;
    std::filesystem::path folder_;
    std::vector<std::string> names_;
};

}  // namespace couplet
