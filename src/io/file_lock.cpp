#include "couplet/io/file_lock.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace couplet {
namespace {

/// 0, or why there is no lock.
int lock(int descriptor, int how) noexcept {
    while (::flock(descriptor, how) != 0) {
        if (errno != EINTR) return errno;
    }
    return 0;
}

}  // namespace

FileLock::FileLock(const std::filesystem::path& path, const LockOptions& options)
    : descriptor_(options.make ? ::open(path.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600)
                               : ::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
    const int failed = descriptor_ < 0 ? errno : lock(descriptor_, options.held ? LOCK_EX | LOCK_NB : LOCK_EX);
    if (failed == 0) return;
    if (descriptor_ >= 0) ::close(std::exchange(descriptor_, -1));
    if (failed == EWOULDBLOCK && options.held) throw RunError(*options.held);
    if (!options.required) return;
    throw RunError({path.string(), std::strerror(failed), "a folder that can be written to", ""});
}

FileLock::~FileLock() {
    if (descriptor_ >= 0) ::close(descriptor_);
}

bool FileLock::is_held(const std::filesystem::path& path) noexcept {
    const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (descriptor < 0) return false;
    // Shared, so that two who ask do not take each other for it.
    const bool held = lock(descriptor, LOCK_SH | LOCK_NB) == EWOULDBLOCK;
    ::close(descriptor);
    return held;
}

FileLock lock_folder(const std::filesystem::path& folder) {
    return FileLock(folder,
                    {.held = ErrorParts{folder.string(), "a folder that another run is writing to", "one run at a time",
                                        "Wait for it to end, or choose another output folder."},
                     .make = false,
                     .required = false});
}

}  // namespace couplet
