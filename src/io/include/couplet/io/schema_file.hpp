#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "couplet/tensor/schema.hpp"

namespace couplet {

/// {"modes": [{"name": ..., "size": ..., "labels": [...], "units": [...]}, ...]}, one for each feature mode; what is
/// not known is left out.
nlohmann::ordered_json schema_json(const Schema& schema);

/// The schema in such an object; "unit" stands for one unit of a whole mode. Throws InputError, naming `where`, for
/// anything else.
Schema parse_schema(const nlohmann::ordered_json& json, const std::string& where);

/// Atomic.
void save_schema(const std::filesystem::path& path, const Schema& schema, bool overwrite);
/// Throws InputError, naming the file, for anything but a schema.
Schema load_schema(const std::filesystem::path& path);

/// The schema of any file that has one: a schema (.json), the manifest.json of a folder of clients, a tensor, or the
/// features, the model or the saved merge of a federation (.npz). Reads no more of a tensor than it must.
Schema read_schema(const std::filesystem::path& path);

/// What the manifest.json beside a file says of the modes of the tensor in it, the patients' included; empty where
/// there is none, or it does not list the file. Throws InputError when it does and its labels do not fit the shape.
Labels labels_beside(const std::filesystem::path& file, const Shape& shape);

}  // namespace couplet
