#pragma once

#include "couplet/io/file_lock.hpp"
#include "couplet/net/kit.hpp"

namespace couplet::net {

/// While it lives, no other process of this machine works with this kit: two would take each other's place at every
/// turn. Throws RunError when another process has it.
FileLock lock_kit(const Kit& kit);
/// Whether somebody works with it now.
bool is_in_use(const Kit& kit);

}  // namespace couplet::net
