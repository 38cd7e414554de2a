#pragma once

#include <filesystem>

#include "couplet/ctt/merger.hpp"

namespace couplet {

/// Writes a merge that takes one more client later: a features model whose metadata holds the ledger. Atomic.
void save_state(const std::filesystem::path& path, const MergeState& state, bool overwrite);

/// Reads it back. Throws InputError for a file that is no saved merge or whose ledger makes no sense.
MergeState load_state(const std::filesystem::path& path);

}  // namespace couplet
