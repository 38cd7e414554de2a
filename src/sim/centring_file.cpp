#include "couplet/sim/centring_file.hpp"

#include <algorithm>
#include <cmath>

#include "couplet/core/error.hpp"

namespace couplet {
namespace {

std::vector<double> numbers(const nlohmann::json& json, const char* key, const std::string& where) {
    if (!json.contains(key)) return {};
    const auto is_number = [](const nlohmann::json& value) { return value.is_number(); };
    const auto& list = json[key];
    if (!list.is_array() || !std::all_of(list.begin(), list.end(), is_number)) {
        throw InputError({where, std::string("a centring whose ") + key + " is no list of numbers", "numbers", ""});
    }
    return list.get<std::vector<double>>();
}

void read_weight(const nlohmann::json& json, Centring& centring, const std::string& where) {
    if (!json.contains("weight")) return;
    const auto whole = [](const nlohmann::json& value) { return value.is_number_integer() && value >= 0; };
    const bool complete = json["weight"].is_string() && json.contains("any") && json["any"].is_array() &&
                          std::all_of(json["any"].begin(), json["any"].end(), whole) && json.contains("patients") &&
                          whole(json["patients"]);
    if (!complete) {
        throw InputError({where, "a weight without the places of its labels and the number of patients",
                          "weight, any and patients", "Run the federation again."});
    }
    centring.weight = parse_weight(json["weight"].get<std::string>());
    centring.any_at = json["any"].get<std::vector<Index>>();
    centring.patients = json["patients"].get<Index>();
}

}  // namespace

nlohmann::json centring_json(const Centring& centring) {
    nlohmann::json json = nlohmann::json::object();
    if (!centring.mean.empty()) json["mean"] = centring.mean;
    if (!centring.scale.empty()) json["scale"] = centring.scale;
    if (!centring.weighted()) return json;
    json["weight"] = to_string(centring.weight);
    json["any"] = centring.any_at;
    json["patients"] = centring.patients;
    return json;
}

Centring read_centring(const nlohmann::json& metadata, const std::string& where) {
    if (!metadata.contains("centring")) return {};
    if (!metadata["centring"].is_object()) {
        throw InputError({where, "a centring that is no object", "means and deviations of the features",
                          "Run the federation again."});
    }
    Centring centring{numbers(metadata["centring"], "mean", where), numbers(metadata["centring"], "scale", where)};
    const auto bad = [](double scale) { return !(scale > 0) || !std::isfinite(scale); };
    if (std::any_of(centring.scale.begin(), centring.scale.end(), bad)) {
        throw InputError({where, "a scale that is not positive", "positive numbers", "Run the federation again."});
    }
    read_weight(metadata["centring"], centring, where);
    return centring;
}

}  // namespace couplet
