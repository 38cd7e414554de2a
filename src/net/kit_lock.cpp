#include "kit_lock.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "couplet/core/error.hpp"

namespace couplet::net {

KitLock::KitLock(const Kit& kit) {
    const std::string path = kit.file("lock").string();
    file_ = ::open(path.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600);
    if (file_ < 0) throw RunError({path, std::strerror(errno), "a kit that can be written to", ""});
    if (::flock(file_, LOCK_EX | LOCK_NB) == 0) return;
    ::close(file_);
    throw RunError({kit.folder.string(), "another coordinator runs on this kit", "one at a time",
                    "Wait for it to end, or stop it."});
}

KitLock::~KitLock() { ::close(file_); }

}  // namespace couplet::net
