#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "couplet/ctt/centring.hpp"

namespace couplet {

/// {"mean": [...], "scale": [...]}, with a weight also "weight", "any" (where each mode has the label of every patient)
/// and "patients", as it is kept in the metadata of features under "centring".
nlohmann::json centring_json(const Centring& centring);
/// That of a model's metadata; empty where there is none. Throws InputError, naming `where`, for anything else.
Centring read_centring(const nlohmann::json& metadata, const std::string& where);

}  // namespace couplet
