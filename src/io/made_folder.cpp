#include "couplet/io/made_folder.hpp"

#include <mutex>
#include <set>
#include <system_error>
#include <utility>

#include "couplet/core/error.hpp"

namespace couplet {
namespace {

namespace fs = std::filesystem;

struct Living {
    std::mutex mutex;
    std::set<const std::vector<fs::path>*> made;
};

/// Never destroyed: a thread may wait on it while the process ends.
Living& living() {
    static auto* const only = new Living;
    return *only;
}

void remove_empty(const std::vector<fs::path>& made) noexcept {
    std::error_code ignored;
    for (const fs::path& at : made) fs::remove(at, ignored);  // which leaves a folder with files alone
}

}  // namespace

MadeFolder::MadeFolder(fs::path folder) : folder_(std::move(folder)) {
    const std::lock_guard lock(living().mutex);
    std::error_code failed;
    std::error_code ignored;
    fs::path at = folder_.lexically_normal();
    if (!at.has_filename()) at = at.parent_path();  // "result/"
    for (; !at.empty() && !fs::exists(at, ignored); at = at.parent_path()) made_.push_back(at);
    fs::create_directories(folder_, failed);
    if (!fs::is_directory(folder_, ignored)) {
        remove_empty(made_);
        throw InputError({folder_.string(), failed ? failed.message() : "not a folder",
                          "a folder, or a place to make one", "Choose another output folder."});
    }
    living().made.insert(&made_);
}

MadeFolder::~MadeFolder() {
    const std::lock_guard lock(living().mutex);
    living().made.erase(&made_);
    remove_empty(made_);
}

void remove_made_folders(const std::function<void()>& clean) {
    // First, or whose files vanish gives its folder up while they are still there.
    living().mutex.lock();
    clean();
    for (const auto* made : living().made) remove_empty(*made);
}

}  // namespace couplet
