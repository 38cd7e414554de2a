#include "couplet/data/client_folder.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <utility>

#include "couplet/core/error.hpp"
#include "couplet/io/mapped_file.hpp"
#include "couplet/io/tensor_file.hpp"
#include "couplet/io/text.hpp"
#include "couplet/tensor/schema.hpp"

namespace couplet {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr const char* remedy = "Make it with couplet data.";

Json read_manifest(const fs::path& folder) {
    const fs::path path = folder / "manifest.json";
    std::ifstream stream(path);
    if (!stream) throw InputError({path.string(), "no such file", "the manifest of a folder of clients", remedy});
    Json manifest = Json::parse(stream, nullptr, false);
    const bool ours = manifest.is_object() && manifest.contains("clients") && manifest["clients"].is_array() &&
                      !manifest["clients"].empty();
    if (!ours) throw InputError({path.string(), "no list of clients", "the manifest of a folder of clients", remedy});
    return manifest;
}

/// A file beside the manifest: its names are data, and must not lead elsewhere.
fs::path beside(const fs::path& folder, const Json& name) {
    if (name.is_string()) {
        const fs::path path = name.get<std::string>();
        if (!path.empty() && path == path.filename() && path != "." && path != "..") return folder / path;
    }
    throw InputError({(folder / "manifest.json").string(), "a file called " + shown(name.dump()),
                      "a name without a folder", remedy});
}

Tensor<double> read_client(const fs::path& file) {
    Tensor<double> x = open_tensor(file).take<double>();
    if (x.shape().order() < 2) {
        throw InputError({file.string(), "a tensor of order " + std::to_string(x.shape().order()),
                          "at least two modes: people and a feature", ""});
    }
    return x;
}

/// Puts all clients in the order that most of them have; their labels decide what belongs together.
Schema align_clients(std::vector<Tensor<double>>& parts, const std::vector<std::string>& names) {
    std::vector<SchemaParty> parties;
    for (std::size_t k = 0; k < parts.size(); ++k) parties.push_back({names[k], feature_schema(parts[k], names[k])});
    SchemaAgreement agreement = agree(parties, Unnamed::refuse);
    for (std::size_t k = 0; k < parts.size(); ++k) {
        if (agreement.misfits[k]) throw InputError(std::move(*agreement.misfits[k]));
        const Alignment how = align(agreement.schema, parties[k].schema, Unnamed::refuse, names[k], "the folder");
        if (!how.empty()) parts[k] = reordered(parts[k].view(), how);
    }
    return std::move(agreement.schema);
}

/// The classes of one client; none when its entry in the manifest names no file.
std::vector<std::int64_t> client_labels(const fs::path& folder, const Json& entry, Index rows) {
    const Json name = entry.value("labels", Json());
    if (name.is_null()) return {};
    const fs::path file = beside(folder, name);
    auto labels = read_labels(file);
    if (static_cast<Index>(labels.size()) != rows) {
        throw InputError({file.string(), std::to_string(labels.size()) + " labels",
                          std::to_string(rows) + ", one per index of the first mode of its client", ""});
    }
    return labels;
}

Tensor<double> stack(const std::vector<Tensor<double>>& parts) {
    const auto first = parts.front().shape().sizes();
    std::vector<Index> sizes(first.begin(), first.end());
    sizes[0] = 0;
    for (const auto& part : parts) sizes[0] += part.shape()[0];
    Tensor<double> all{Shape(std::move(sizes))};
    double* target = all.data();
    for (const auto& part : parts) target = std::copy_n(part.data(), part.size(), target);
    return all;
}

}  // namespace

std::vector<ListedClient> listed_clients(const fs::path& folder) {
    const fs::path path = folder / "manifest.json";
    std::error_code failed;
    if (!fs::is_regular_file(path, failed)) return {};  // a pipe would wait for its writer
    std::ifstream stream(path);
    const Json manifest = Json::parse(stream, nullptr, false);
    if (!manifest.is_object() || !manifest.contains("clients") || !manifest["clients"].is_array()) return {};
    const auto name = [](const Json& entry, const char* key) {
        const bool named = entry.is_object() && entry.contains(key) && entry[key].is_string();
        return named ? fs::path(entry[key].get<std::string>()).filename().string() : std::string();
    };
    std::vector<ListedClient> clients;
    for (const Json& entry : manifest["clients"]) {
        ListedClient client{.file = name(entry, "file"), .labels = name(entry, "labels")};
        if (entry.is_object() && entry.contains("rows") && entry["rows"].is_number_integer())
            client.rows = entry["rows"];
        clients.push_back(std::move(client));
    }
    return clients;
}

std::vector<std::int64_t> read_labels(const fs::path& file) {
    const NpyHeader header = read_npy_header(file);
    if (header.shape.order() != 1) {
        throw InputError({file.string(), "shape " + header.shape.to_string(), "one mode: a class for each person", ""});
    }
    std::vector<std::int64_t> labels;
    if (header.descr == "<i8") {
        const MappedFile mapped(file);
        const auto bytes = mapped.bytes();
        check_npy_size(header, static_cast<Index>(bytes.size()), file.string());
        labels.resize(static_cast<std::size_t>(header.shape.size()));
        if (!labels.empty()) std::memcpy(labels.data(), bytes.data() + header.data_offset, labels.size() * 8);
        return labels;
    }
    const Tensor<double> values = open_tensor(file).take<double>();
    for (const double value : values.elements()) {
        if (!(std::abs(value) < 1e15 && value == std::floor(value))) {
            throw InputError({file.string(), "the label " + std::to_string(value), "whole numbers", ""});
        }
        labels.push_back(static_cast<std::int64_t>(value));
    }
    return labels;
}

Dataset read_clients(const fs::path& folder) {
    const Json manifest = read_manifest(folder);
    Dataset all;
    std::vector<Tensor<double>> parts;
    std::vector<std::string> names;
    for (const Json& entry : manifest["clients"]) {
        const fs::path file = beside(folder, entry.is_object() ? entry.value("file", Json()) : Json());
        if (std::find(names.begin(), names.end(), file.string()) != names.end()) {
            throw InputError({(folder / "manifest.json").string(), file.filename().string() + " more than once",
                              "every client once", remedy});
        }
        parts.push_back(read_client(file));
        names.push_back(file.string());
        const auto labels = client_labels(folder, entry, parts.back().shape()[0]);
        all.labels.insert(all.labels.end(), labels.begin(), labels.end());
    }
    Schema schema = align_clients(parts, names);
    all.tensor = stack(parts);
    if (schema.named()) {
        schema.modes.insert(schema.modes.begin(), ModeLabels{});
        all.tensor.set_labels(std::move(schema.modes));
    }
    all.available = all.tensor.shape()[0];
    if (static_cast<Index>(all.labels.size()) != all.available) all.labels.clear();
    if (manifest.contains("source") && manifest["source"].is_string()) all.source = manifest["source"];
    return all;
}

}  // namespace couplet
