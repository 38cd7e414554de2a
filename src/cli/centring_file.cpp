#include "centring_file.hpp"

#include <algorithm>
#include <cmath>

#include "couplet/core/error.hpp"

namespace couplet::cli {
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

}  // namespace

nlohmann::json centring_json(const Centring& centring) {
    nlohmann::json json = nlohmann::json::object();
    if (!centring.mean.empty()) json["mean"] = centring.mean;
    if (!centring.scale.empty()) json["scale"] = centring.scale;
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
    return centring;
}

}  // namespace couplet::cli
