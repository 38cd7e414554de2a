#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>

#include "couplet/data/dataset.hpp"

namespace couplet {

/// How a federation on disk was made, for its manifest.json.
struct Manifest {
    std::string kind = {};  ///< "synthetic", "ecg", "diabetes", "ehr"
    std::string spec = {};  ///< the recipe in words or as a specification
    std::uint64_t seed = 0;
};

/// Writes client_1.npy, ..., client_K.npy (float64), labels_<k>.npy (int64) for clients with labels, and last of all
/// manifest.json: {kind, spec, seed, source, shape, mode_labels, clients: [{file, rows, labels}]}, where shape is that
/// of all clients together and labels is null without. `client(k)`, k from 0, makes one client at a time: memory holds
/// one. The folder is created, with its parents. Each file appears complete or not at all. Existing files of these
/// names are refused before anything is written unless `overwrite`; then the files of an older, larger federation are
/// removed. When it fails, what it wrote is removed. Throws InputError when clients disagree in features or labels do
/// not fit.
void write_clients(const std::filesystem::path& folder, const Manifest& manifest, Index clients,
                   const std::function<Dataset(Index)>& client, bool overwrite);

/// Same, for clients in memory.
void write_clients(const std::filesystem::path& folder, const Manifest& manifest, std::span<const Dataset> clients,
                   bool overwrite);

}  // namespace couplet
