#include "kit_lock.hpp"

#include <fcntl.h>
#include <fmt/format.h>
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
    throw RunError({kit.folder.string(), fmt::format("another {} runs on this kit", to_string(kit.identity.role)),
                    "one at a time", "Wait for it to end, or stop it."});
}

KitLock::~KitLock() { ::close(file_); }

bool KitLock::is_held(const Kit& kit) {
    const int file = ::open(kit.file("lock").c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0) return false;
    // Shared, so that two who ask do not take each other for it.
    const bool held = ::flock(file, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    ::close(file);
    return held;
}

}  // namespace couplet::net
