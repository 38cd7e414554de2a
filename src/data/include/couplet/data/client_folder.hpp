#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "couplet/data/dataset.hpp"

namespace couplet {

/// All clients of a folder that write_clients() wrote, one below the other, with their labels (empty unless every
/// client has some). Throws InputError for a folder without a manifest, a manifest of another making, and files that
/// are missing or do not fit it, naming them.
Dataset read_clients(const std::filesystem::path& folder);

/// What the manifest.json of a folder says of one client. Names are of files in the folder.
struct ListedClient {
    std::string file = {};
    std::optional<Index> rows = {};
    std::string labels = {};  ///< empty: none
};

/// The clients that a folder's manifest.json lists, for those who look at a folder without reading its data; empty
/// where there is no manifest, or one of another making.
std::vector<ListedClient> listed_clients(const std::filesystem::path& folder);

/// Classes from a .npy file of one mode: int64, or floating point where every number is whole. Throws InputError for
/// anything else.
std::vector<std::int64_t> read_labels(const std::filesystem::path& file);

}  // namespace couplet
