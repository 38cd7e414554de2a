#include "kit_lock.hpp"

#include <fmt/format.h>

namespace couplet::net {

FileLock lock_kit(const Kit& kit) {
    return FileLock(kit.file("lock"),
                    {.held = ErrorParts{kit.folder.string(),
                                        fmt::format("another {} runs on this kit", to_string(kit.identity.role)),
                                        "one at a time", "Wait for it to end, or stop it."}});
}

bool is_in_use(const Kit& kit) { return FileLock::is_held(kit.file("lock")); }

}  // namespace couplet::net
