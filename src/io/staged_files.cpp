#include "couplet/io/staged_files.hpp"

#include <algorithm>
#include <shared_mutex>
#include <system_error>
#include <utility>

#include "couplet/core/error.hpp"
#include "rename.hpp"

namespace couplet {
namespace {

namespace fs = std::filesystem;

/// Never destroyed: a thread may wait on it while the process ends.
std::shared_mutex& gate() {
    static auto* const only = new std::shared_mutex;
    return *only;
}

fs::path made_in(const fs::path& place) {
    for (;;) {
        fs::path folder = temporary_name(place, ".dir");
        std::error_code failed;
        if (fs::create_directory(folder, failed)) return folder;
        if (failed) {
            throw RunError({place.string(), "no folder can be made in it: " + failed.message(),
                            "a folder to write into", "Free some space or choose another place."});
        }
    }
}

}  // namespace

CommitTogether::CommitTogether() { gate().lock_shared(); }
CommitTogether::~CommitTogether() { gate().unlock_shared(); }

void end_commits() noexcept { gate().lock(); }

StagedFiles::StagedFiles(fs::path place) : place_(std::move(place)), folder_(made_in(place_)) {}

StagedFiles::~StagedFiles() {
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
}

fs::path StagedFiles::add(const std::string& name) {
    names_.push_back(name);
    return folder_ / name;
}

void StagedFiles::commit(bool overwrite, const std::vector<fs::path>& stale) {
    const CommitTogether together;
    std::error_code ignored;
    for (const fs::path& file : stale) {
        std::error_code failed;
        fs::remove(file, failed);
        if (failed) throw RunError({file.string(), failed.message(), "an old file that can be removed", ""});
    }
    std::size_t moved = 0;
    try {
        for (; moved < names_.size(); ++moved)
            move_into_place(folder_ / names_[moved], place_ / names_[moved], overwrite);
    } catch (...) {
        for (std::size_t i = 0; i < moved && !overwrite; ++i) fs::remove(place_ / names_[i], ignored);
        throw;
    }
    sync_folder(place_, place_);
}

}  // namespace couplet
