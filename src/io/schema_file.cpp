#include "couplet/io/schema_file.hpp"

#include <algorithm>
#include <fstream>
#include <sstream>
#include <utility>

#include "couplet/core/error.hpp"
#include "couplet/io/atomic_file.hpp"
#include "couplet/io/model.hpp"
#include "couplet/io/tensor_file.hpp"
#include "couplet/io/text.hpp"

namespace couplet {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr const char* remedy = "couplet schema FILE -o schema.json writes one.";
constexpr std::uintmax_t largest_file = 64 << 20;

std::vector<std::string> texts(const Json& json, const std::string& where, const char* what) {
    const auto is_text = [](const Json& value) { return value.is_string(); };
    if (!json.is_array() || !std::all_of(json.begin(), json.end(), is_text)) {
        throw InputError({where, std::string(what) + " that are no list of texts", "[\"a\", \"b\", ...]", remedy});
    }
    auto list = json.get<std::vector<std::string>>();
    for (const std::string& text : list) {
        if (!is_utf8(text)) throw InputError({where, "a label that is not UTF-8: " + shown(text), "UTF-8 text", ""});
    }
    return list;
}

std::string text(const Json& json, const std::string& where, const char* what) {
    if (!json.is_string()) throw InputError({where, std::string("a ") + what + " that is no text", "a text", remedy});
    return json.get<std::string>();
}

/// Labels of one mode under either name, `entries` in a manifest and `labels` in a schema.
ModeLabels parse_mode(const Json& json, const std::string& where, Index& size) {
    if (!json.is_object())
        throw InputError({where, "a mode that is no object", "{\"name\": ..., \"labels\": [...]}", remedy});
    ModeLabels mode;
    if (json.contains("name")) mode.name = text(json["name"], where, "name");
    for (const char* key : {"labels", "entries"}) {
        if (!json.contains(key)) continue;
        auto told = texts(json[key], where, key);
        if (!mode.entries.empty() && mode.entries != told) {
            throw InputError({where, "labels and entries that contradict each other", "one of them", remedy});
        }
        mode.entries = std::move(told);
    }
    if (json.contains("units")) mode.units = texts(json["units"], where, "units");
    constexpr Index most = Index{1} << 40;
    if (json.contains("size")) {
        if (!json["size"].is_number_integer() || json["size"] < 1 || json["size"] > most) {
            throw InputError(
                {where, "a size of " + shown(json["size"].dump()), "a whole number of at least 1", remedy});
        }
        size = json["size"].get<Index>();
    } else if (size == 0) {
        size = static_cast<Index>(std::max(mode.entries.size(), mode.units.size()));
    }
    if (json.contains("unit") && mode.units.empty()) {
        constexpr Index most_units = 10'000'000;
        if (size > most_units) throw InputError({where, "a unit for a mode of " + std::to_string(size), "fewer", ""});
        mode.units.assign(static_cast<std::size_t>(size), text(json["unit"], where, "unit"));
    }
    return mode;
}

Json read_json(const fs::path& path) {
    std::ifstream stream(path, std::ios::binary);
    if (!stream) throw InputError({path.string(), "no such file", "a file that can be read", "Check the path."});
    std::error_code failed;
    if (fs::file_size(path, failed) > largest_file || failed) {
        throw InputError({path.string(), "a large file", "a schema of at most 64 MiB", ""});
    }
    Json json = Json::parse(stream, nullptr, false);
    if (json.is_discarded()) throw InputError({path.string(), "text that is not JSON", "a JSON object", remedy});
    return json;
}

Schema without_patients(const Shape& shape, Labels labels, const std::string& where) {
    if (shape.order() < 2) {
        throw InputError({where, "a tensor of order " + std::to_string(shape.order()),
                          "at least two modes: patients and a feature", ""});
    }
    if (!labels.empty()) labels.erase(labels.begin());
    return make_schema(Shape(std::vector<Index>(shape.sizes().begin() + 1, shape.sizes().end())), std::move(labels),
                       where);
}

Labels manifest_labels(const Json& modes, const std::string& where) {
    Labels labels;
    if (!modes.is_array()) throw InputError({where, "mode_labels that are no list", "one entry per mode", ""});
    for (const Json& mode : modes) {
        Index size = 0;
        labels.push_back(parse_mode(mode, where, size));
    }
    // Those are of the patients of all clients together.
    if (!labels.empty()) labels.front() = {labels.front().name, {}, {}};
    return labels;
}

/// A manifest that was written for another file of that name must not name the columns of this one.
void require_rows_of(const Json& client, const Shape& shape, const std::string& where) {
    if (!client.contains("rows") || !client["rows"].is_number_integer() || shape.order() < 1) return;
    if (client["rows"].get<Index>() == shape[0]) return;
    throw InputError({where, client["rows"].dump() + " rows by the manifest",
                      std::to_string(shape[0]) + ", as the file has",
                      "Write the manifest again, or take the file out of it."});
}

Schema manifest_schema(const Json& manifest, const std::string& where) {
    if (!manifest.contains("shape") || !manifest["shape"].is_array()) {
        throw InputError({where, "no shape", "the manifest of a folder of clients", "Make it with couplet data."});
    }
    std::vector<Index> sizes;
    for (const Json& size : manifest["shape"]) {
        if (!size.is_number_integer() || size < 0) throw InputError({where, "a shape that is none", "sizes", ""});
        sizes.push_back(size.get<Index>());
    }
    return without_patients(Shape(std::move(sizes)),
                            manifest_labels(manifest.value("mode_labels", Json::array()), where), where);
}

Schema model_schema(const fs::path& path) {
    const Model<double> model = to_double(load_model(path));
    std::vector<Index> sizes;
    for (const auto& core : model.cores) sizes.push_back(core.shape()[1]);
    const std::string where = path.string();
    if (model.is_features()) return make_schema(Shape(std::move(sizes)), model.labels, where);
    return without_patients(Shape(std::move(sizes)), model.labels, where);
}

/// A saved merge has its schema in its metadata.
std::optional<Schema> state_schema(const fs::path& path) {
    const NpzReader archive(path);
    if (!archive.contains("meta_json")) return std::nullopt;
    std::string meta;
    for (const std::string& part : archive.texts("meta_json")) meta += part;
    const Json json = Json::parse(meta, nullptr, false);
    if (!json.is_object() || !json.contains("schema")) return std::nullopt;
    return parse_schema(json["schema"], path.string());
}

bool is_model(const fs::path& path) {
    const NpzReader archive(path);
    return archive.contains("core_1") || archive.contains("core_2");
}

}  // namespace

Json schema_json(const Schema& schema) {
    Json modes = Json::array();
    for (Index n = 0; n < schema.features.order(); ++n) {
        Json mode = Json::object();
        const ModeLabels names = schema.modes.empty() ? ModeLabels{} : schema.modes[static_cast<std::size_t>(n)];
        if (!names.name.empty()) mode["name"] = names.name;
        mode["size"] = schema.features[n];
        if (!names.entries.empty()) mode["labels"] = names.entries;
        if (!names.units.empty()) mode["units"] = names.units;
        modes.push_back(std::move(mode));
    }
    return {{"modes", std::move(modes)}};
}

Schema parse_schema(const Json& json, const std::string& where) {
    if (!json.is_object() || !json.contains("modes") || !json["modes"].is_array() || json["modes"].empty()) {
        throw InputError({where, "no list of modes", "{\"modes\": [{\"name\": ..., \"labels\": [...]}, ...]}", remedy});
    }
    std::vector<Index> sizes;
    Labels labels;
    for (const Json& mode : json["modes"]) {
        Index size = 0;
        labels.push_back(parse_mode(mode, where, size));
        if (size < 1) throw InputError({where, "a mode without labels and size", "one of them", remedy});
        sizes.push_back(size);
    }
    return make_schema(Shape(std::move(sizes)), std::move(labels), where);
}

void save_schema(const fs::path& path, const Schema& schema, bool overwrite) {
    const std::string out = schema_json(schema).dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
    AtomicFile file(path, overwrite);
    file.write(std::as_bytes(std::span(out)));
    file.commit();
}

Schema load_schema(const fs::path& path) { return parse_schema(read_json(path), path.string()); }

Schema read_schema(const fs::path& path) {
    const std::string name = path.string();
    if (name.ends_with(".json")) {
        const Json json = read_json(path);
        if (json.is_object() && json.contains("mode_labels")) return manifest_schema(json, name);
        return parse_schema(json, name);
    }
    if (name.ends_with(".npz")) {
        if (auto state = state_schema(path)) return std::move(*state);
        if (is_model(path)) return model_schema(path);
    }
    const TensorFile file = open_tensor(path);
    return without_patients(file.shape(), file.labels(), name);
}

Labels labels_beside(const fs::path& file, const Shape& shape) {
    const fs::path path = file.parent_path() / "manifest.json";
    std::error_code failed;
    if (fs::symlink_status(path, failed).type() == fs::file_type::not_found) {
        // A link to a tensor elsewhere is that tensor, with what is told of it there.
        const fs::path target = fs::is_symlink(file, failed) ? fs::canonical(file, failed) : fs::path();
        return target.empty() ? Labels{} : labels_beside(target, shape);
    }
    // What is there may name the columns: whatever keeps it from being read is said.
    const std::string repair = "Repair it: it may name the columns of " + file.filename().string() + ".";
    std::ifstream stream;
    if (fs::is_regular_file(path, failed)) stream.open(path, std::ios::binary);  // a pipe would wait for its writer
    if (!stream.is_open() || fs::file_size(path, failed) > largest_file) {
        throw InputError({path.string(), stream.is_open() ? "a large file" : "not a file that can be read",
                          "a manifest, or nothing of that name", repair});
    }
    const Json manifest = Json::parse(stream, nullptr, false);
    if (manifest.is_discarded()) {
        throw InputError({path.string(), "text that is not JSON", "a manifest, or no file of that name", repair});
    }
    if (!manifest.is_object() || !manifest.contains("clients") || !manifest["clients"].is_array()) return {};
    const std::string name = file.filename().string();
    const auto lists = [&](const Json& client) {
        if (!client.is_object() || !client.contains("file") || !client["file"].is_string()) return false;
        return fs::path(client["file"].get<std::string>()).lexically_normal() == fs::path(name);
    };
    if (std::count_if(manifest["clients"].begin(), manifest["clients"].end(), lists) > 1) {
        throw InputError({path.string(), name + " more than once", "every file once", "Write the manifest again."});
    }
    for (const Json& client : manifest["clients"]) {
        if (!lists(client)) continue;
        require_rows_of(client, shape, path.string() + ", " + name);
        const Json& told =
            client.contains("mode_labels") ? client["mode_labels"] : manifest.value("mode_labels", Json());
        if (told.is_null()) return {};
        Labels labels = manifest_labels(told, path.string());
        if (labels.empty()) return {};
        try {
            check_labels(labels, shape);
        } catch (const InputError& error) {
            throw InputError({path.string(), name + ": " + error.parts().found, error.parts().expected,
                              "Write the manifest again, or take the file out of it."});
        }
        return labels;
    }
    return {};
}

}  // namespace couplet
