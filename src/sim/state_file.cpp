#include "couplet/sim/state_file.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <utility>

#include "couplet/core/error.hpp"
#include "couplet/ctt/arrived_cores.hpp"
#include "couplet/io/npz.hpp"
#include "couplet/io/owner_only.hpp"
#include "couplet/io/schema_file.hpp"
#include "couplet/io/text.hpp"

namespace couplet {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr const char* kind = "couplet merge 2";

[[noreturn]] void refuse(const fs::path& path, const std::string& found) {
    throw InputError({path.string(), found, "a file written by `save_state`", ""});
}

std::string array_name(std::size_t k, const std::string& part) {
    return "upload_" + std::to_string(k + 1) + "_" + part;
}
std::string core_part(Index n) { return "core_" + std::to_string(n + 2); }

Json job_json(const SavedMerge& merge) {
    Json json = Json::object();
    if (merge.job.rank) json["rank"] = *merge.job.rank;
    if (merge.job.eps) {
        json["eps"] = *merge.job.eps;
    } else {
        json["eps1"] = merge.job.eps1;
        json["eps2"] = merge.job.eps2;
    }
    json["unnamed"] = to_string(merge.job.unnamed);
    json["scale_clients"] = merge.scale_clients;
    return json;
}

Json client_json(const Contribution& contribution) {
    const Ledger& l = contribution.state.ledger;
    return {{"name", contribution.client},
            {"form", contribution.state.block.is_dense() ? "rows" : "train"},
            {"rows", l.rows},
            {"norm2", l.norm2},
            {"svd_tail2", l.svd_tail2},
            {"tt_tail2", l.tt_tail2}};
}

double number(const Json& json, const char* key, const fs::path& path) {
    if (!json.contains(key) || !json[key].is_number()) refuse(path, std::string("no ") + key);
    const double value = json[key].get<double>();
    if (!(value >= 0) || !std::isfinite(value)) refuse(path, std::string(key) + " = " + json[key].dump());
    return value;
}

Index count(const Json& json, const char* key, const fs::path& path) {
    const double value = number(json, key, path);
    constexpr double largest = 9e15;  // whole numbers are exact below
    if (value < 1 || value > largest || value != std::floor(value)) {
        refuse(path, std::string(key) + " = " + json[key].dump());
    }
    return static_cast<Index>(value);
}

std::optional<double> error_part(const Json& json, const char* key, const fs::path& path) {
    if (!json.contains(key)) return std::nullopt;
    const double value = number(json, key, path);
    if (value >= 1) refuse(path, std::string(key) + " = " + json[key].dump());
    return value;
}

void parse_job(const Json& json, SavedMerge& merge, const fs::path& path) {
    if (!json.is_object() || !json.contains("scale_clients") || !json["scale_clients"].is_boolean() ||
        !json.contains("unnamed") || !json["unnamed"].is_string()) {
        refuse(path, "no job");
    }
    JobOptions options;
    if (json.contains("rank")) options.rank = count(json, "rank", path);
    options.eps = error_part(json, "eps", path);
    options.eps1 = error_part(json, "eps1", path);
    options.eps2 = error_part(json, "eps2", path);
    options.unnamed = parse_unnamed(json["unnamed"].get<std::string>());
    merge.job = resolve_job(options);
    merge.scale_clients = json["scale_clients"];
}

Tensor<double> finite_tensor(const NpzReader& archive, const std::string& name, const fs::path& path) {
    if (!archive.contains(name)) refuse(path, "no array " + name);
    Tensor<double> tensor = archive.tensor<double>(name);
    require_finite<double>(tensor.view(), path.string() + ": " + name);
    return tensor;
}

FeatureBlock read_rows(const NpzReader& archive, std::size_t k, const Shape& features, const fs::path& path) {
    Tensor<double> rows = finite_tensor(archive, array_name(k, "rows"), path);
    const Shape& shape = rows.shape();
    bool fits = shape.order() == features.order() + 1 && shape[0] >= 1;
    for (Index n = 0; fits && n < features.order(); ++n) fits = shape[n + 1] == features[n];
    if (!fits) refuse(path, array_name(k, "rows") + " of shape " + shape.to_string());
    const Index count_rows = shape[0];
    return FeatureBlock(Matrix<double>::adopt(std::move(rows).release(), count_rows, features.size()), features);
}

FeatureBlock read_train(const NpzReader& archive, std::size_t k, const Shape& features, const fs::path& path) {
    std::vector<Tensor<double>> cores;
    for (Index n = 0; n < features.order(); ++n) {
        const std::string name = array_name(k, core_part(n));
        cores.push_back(finite_tensor(archive, name, path));
        const Shape& shape = cores.back().shape();
        const bool last = n + 1 == features.order();
        const bool fits = shape.order() == 3 && shape.size() > 0 && shape[1] == features[n] &&
                          (n == 0 || shape[0] == cores[cores.size() - 2].shape()[2]) && (!last || shape[2] == 1);
        if (!fits) refuse(path, name + " of shape " + shape.to_string());
    }
    return FeatureBlock(left_orthonormal(std::move(cores)));
}

Contribution read_contribution(const NpzReader& archive, const Json& json, std::size_t k, const Schema& schema,
                               const fs::path& path) {
    if (!json.is_object() || !json.contains("name") || !json["name"].is_string() || !json.contains("form")) {
        refuse(path, "a client without a name");
    }
    const Ledger ledger{1,
                        count(json, "rows", path),
                        number(json, "norm2", path),
                        number(json, "svd_tail2", path),
                        number(json, "tt_tail2", path),
                        0};
    const bool dense = json["form"] == "rows";
    if (!dense && json["form"] != "train") refuse(path, "form " + json["form"].dump());
    Contribution contribution{
        json["name"].get<std::string>(),
        {dense ? read_rows(archive, k, schema.features, path) : read_train(archive, k, schema.features, path), ledger}};
    if (!is_consistent(contribution.state.block, ledger)) {
        refuse(path, "figures of " + shown(contribution.client) + " that do not fit what it sent");
    }
    return contribution;
}

Json read_metadata(const NpzReader& archive, const fs::path& path) {
    if (!archive.contains("meta_json")) refuse(path, "another kind of file");
    std::string text;
    for (const std::string& part : archive.texts("meta_json")) text += part;
    Json json = Json::parse(text, nullptr, false);
    if (!json.is_object() || json.value("kind", Json()) != kind) refuse(path, "another kind of file");
    if (!json.contains("job") || !json.contains("schema") || !json.contains("clients") || !json["clients"].is_array() ||
        json["clients"].empty()) {
        refuse(path, "no job, schema or clients");
    }
    return json;
}

}  // namespace

void save_state(const fs::path& path, const SavedMerge& merge, bool overwrite) {
    const OwnerOnly rows_of_patients;
    NpzWriter archive(path, overwrite);
    Json clients = Json::array();
    for (std::size_t k = 0; k < merge.contributions.size(); ++k) {
        const Contribution& contribution = merge.contributions[k];
        const FeatureBlock& block = contribution.state.block;
        clients.push_back(client_json(contribution));
        if (block.is_dense()) {
            std::vector<Index> sizes(block.features().sizes().begin(), block.features().sizes().end());
            sizes.insert(sizes.begin(), block.rows());
            archive.add(array_name(k, "rows"), TensorView<const double>(block.dense().data(), Shape(std::move(sizes))));
            continue;
        }
        for (Index n = 0; n < block.train().order(); ++n) {
            archive.add(array_name(k, core_part(n)), block.train().core(n));
        }
    }
    const Json metadata{{"kind", kind},
                        {"job", job_json(merge)},
                        {"schema", schema_json(merge.schema)},
                        {"clients", std::move(clients)},
                        {"version", version()}};
    archive.add_text("meta_json", metadata.dump());
    archive.commit();
}

SavedMerge load_state(const fs::path& path) {
    const NpzReader archive(path);
    const Json metadata = read_metadata(archive, path);
    SavedMerge merge;
    try {
        parse_job(metadata["job"], merge, path);
    } catch (const InputError& error) {
        if (error.parts().where == path.string()) throw;
        refuse(path, error.parts().where + " " + error.parts().found);
    }
    merge.schema = parse_schema(metadata["schema"], path.string());
    std::set<std::string> names;
    for (std::size_t k = 0; k < metadata["clients"].size(); ++k) {
        merge.contributions.push_back(read_contribution(archive, metadata["clients"][k], k, merge.schema, path));
        const std::string& name = merge.contributions.back().client;
        if (!names.insert(name).second) refuse(path, "client " + shown(name) + " twice");
    }
    const std::string beyond = "upload_" + std::to_string(merge.contributions.size() + 1) + "_";
    for (const std::string& name : archive.names()) {
        if (name.starts_with(beyond)) refuse(path, "array " + name + " of a client that is not listed");
    }
    return merge;
}

}  // namespace couplet
