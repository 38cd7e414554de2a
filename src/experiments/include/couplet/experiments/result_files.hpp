#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "couplet/experiments/result.hpp"

namespace couplet {

/// Every row, figure and sentence of a result.
nlohmann::ordered_json to_json(const ExperimentResult& result);

/// Inverse of to_json(); throws InputError that names `where` for anything else.
ExperimentResult result_from_json(const nlohmann::ordered_json& json, const std::string& where);

/// A line per row: figure, method, variant, category, x, mean, sd, repeats, paper, note; text in quotes where it needs
/// them (RFC 4180).
std::string to_csv(const ExperimentResult& result);

}  // namespace couplet
