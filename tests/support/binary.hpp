#pragma once

#include <filesystem>
#include <string>

namespace couplet::testing {

/// The command line built beside the test program that runs.
inline std::string couplet_binary() {
    return (std::filesystem::read_symlink("/proc/self/exe").parent_path() / "couplet").string();
}

}  // namespace couplet::testing
