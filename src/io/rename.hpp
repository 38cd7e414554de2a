#pragma once

#include <filesystem>

namespace couplet {

/// Gives a file its name. Throws InputError when the name is taken and `overwrite` is false, RunError when the disk
/// fails; both name `to`.
void move_into_place(const std::filesystem::path& from, const std::filesystem::path& to, bool overwrite);

/// Makes the names in a folder durable; RunError names `named`.
void sync_folder(const std::filesystem::path& folder, const std::filesystem::path& named);

/// A new name for something temporary in `folder`: ".couplet-<process>-<number><ending>".
std::filesystem::path temporary_name(const std::filesystem::path& folder, const char* ending);

}  // namespace couplet
