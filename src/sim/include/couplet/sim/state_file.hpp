#pragma once

#include <filesystem>

#include "couplet/ctt/saved_merge.hpp"

namespace couplet {

/// Writes a merge that more clients can join later: upload_<k>_core_<n> for a client that sent a train,
/// upload_<k>_rows (R1_k x I2 x ... x IN) for one that sent rows, k from 1; in meta_json the job, its schema, and each
/// client's name and errors. Atomic.
void save_state(const std::filesystem::path& path, const SavedMerge& merge, bool overwrite);

/// Reads it back. Throws InputError for a file that is no saved merge or whose figures make no sense.
SavedMerge load_state(const std::filesystem::path& path);

}  // namespace couplet
