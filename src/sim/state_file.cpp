#include "couplet/sim/state_file.hpp"

#include <cmath>
#include <string>
#include <utility>

#include "couplet/core/error.hpp"
#include "couplet/io/model.hpp"

namespace couplet {
namespace {

constexpr const char* kind = "couplet merge state";

[[noreturn]] void refuse(const std::filesystem::path& path, const std::string& found) {
    throw InputError({path.string(), found, "a file written by simulate --save-state", ""});
}

double number(const nlohmann::json& ledger, const char* key, const std::filesystem::path& path) {
    if (!ledger.contains(key) || !ledger[key].is_number()) refuse(path, std::string("no ") + key + " in its ledger");
    const double value = ledger[key].get<double>();
    if (!(value >= 0) || !std::isfinite(value)) refuse(path, std::string(key) + " = " + ledger[key].dump());
    return value;
}

Index count(const nlohmann::json& ledger, const char* key, const std::filesystem::path& path) {
    const double value = number(ledger, key, path);
    constexpr double largest = 9e15;  // whole numbers are exact below
    if (value < 1 || value > largest || value != std::floor(value)) {
        refuse(path, std::string(key) + " = " + ledger[key].dump());
    }
    return static_cast<Index>(value);
}

}  // namespace

void save_state(const std::filesystem::path& path, const MergeState& state, bool overwrite) {
    auto model = to_model(block_train(state.block), 2);
    const Ledger& l = state.ledger;
    model.metadata["kind"] = kind;
    model.metadata["ledger"] = {{"clients", l.clients},     {"rows", l.rows},         {"norm2", l.norm2},
                                {"svd_tail2", l.svd_tail2}, {"tt_tail2", l.tt_tail2}, {"used2", l.used2}};
    save_model(path, model, overwrite);
}

MergeState load_state(const std::filesystem::path& path) {
    auto model = to_double(load_model(path));
    const auto& metadata = model.metadata;
    if (!model.is_features() || !metadata.is_object() || metadata.value("kind", nlohmann::json()) != kind ||
        !metadata.contains("ledger") || !metadata["ledger"].is_object()) {
        refuse(path, "another kind of model");
    }
    const auto& l = metadata["ledger"];
    Ledger ledger;
    ledger.clients = count(l, "clients", path);
    ledger.rows = count(l, "rows", path);
    ledger.norm2 = number(l, "norm2", path);
    ledger.svd_tail2 = number(l, "svd_tail2", path);
    ledger.tt_tail2 = number(l, "tt_tail2", path);
    ledger.used2 = number(l, "used2", path);
    return {FeatureBlock(to_train(std::move(model))), ledger};
}

}  // namespace couplet
