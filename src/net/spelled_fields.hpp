#pragma once

#include <nlohmann/json.hpp>

#include "couplet/core/spelling.hpp"

namespace couplet::net {

/// `fields` with every text in it spelled(), at any depth; keys stay.
nlohmann::ordered_json spelled_fields(const nlohmann::ordered_json& fields, const Spelling& spelling);

}  // namespace couplet::net
