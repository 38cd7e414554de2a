#include "file_lock.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "couplet/core/error.hpp"

namespace couplet::net {

FileLock::FileLock(const std::filesystem::path& file) {
    descriptor_ = ::open(file.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600);
    int failed = descriptor_ < 0 ? errno : 0;
    while (descriptor_ >= 0 && ::flock(descriptor_, LOCK_EX) != 0) {
        if (errno == EINTR) continue;
        failed = errno;
        ::close(descriptor_);
        descriptor_ = -1;
    }
    if (descriptor_ >= 0) return;
    throw RunError({file.string(), std::strerror(failed), "a folder that can be written to", ""});
}

FileLock::~FileLock() { ::close(descriptor_); }

}  // namespace couplet::net
