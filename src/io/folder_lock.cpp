#include "couplet/io/folder_lock.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>

#include "couplet/core/error.hpp"

namespace couplet {

FolderLock::FolderLock(const std::filesystem::path& folder)
    : folder_(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
    if (folder_ < 0 || ::flock(folder_, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) return;
    ::close(folder_);
    throw RunError({folder.string(), "a folder that another run is writing to", "one run at a time",
                    "Wait for it to end, or choose another output folder."});
}

FolderLock::~FolderLock() {
    if (folder_ >= 0) ::close(folder_);
}

}  // namespace couplet
