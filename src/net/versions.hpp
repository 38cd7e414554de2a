#pragma once

#include <string>

namespace couplet::net {

/// Whether two versions of the software work together: those of one minor version do, so that parties may be upgraded
/// one after the other.
bool work_together(const std::string& one, const std::string& other);

/// Throws InputError that blames `who` unless its version works together with `own`.
void require_version(const std::string& who, const std::string& theirs, const std::string& own);

}  // namespace couplet::net
