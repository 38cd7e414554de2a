#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <type_traits>

#include "couplet/baselines/tune.hpp"
#include "couplet/core/error.hpp"
#include "couplet/io/atomic_file.hpp"

namespace couplet {
namespace {

using Json = nlohmann::ordered_json;
namespace fs = std::filesystem;

constexpr const char* kind = "couplet tuning cache";

[[noreturn]] void refuse(const fs::path& path, const std::string& found) {
    throw InputError({path.string(), found, "a file written by couplet tune", "Name another file with `cache`."});
}

/// An empty cache where there is no file.
Json read_cache(const fs::path& path) {
    if (!fs::exists(path)) return {{"kind", kind}, {"entries", Json::array()}};
    constexpr std::uintmax_t largest = 64U << 20U;
    std::error_code failed;
    const auto size = fs::file_size(path, failed);
    if (failed || size > largest) refuse(path, failed ? failed.message() : "more than 64 MiB");
    std::ifstream stream(path);
    Json json = Json::parse(stream, nullptr, false);
    if (!json.is_object() || json.value("kind", Json()) != kind || !json.contains("entries") ||
        !json["entries"].is_array()) {
        refuse(path, "something else");
    }
    return json;
}

Json key_json(const TuningKey& key) {
    return {{"method", to_string(key.method)}, {"rank", key.rank}, {"loss", to_string(key.loss)}, {"data", key.data}};
}

bool matches(const Json& entry, const TuningKey& key) {
    return entry.is_object() && entry.contains("key") && entry["key"] == key_json(key);
}

template <class T>
void read_parameter(const Json& json, const char* name, std::optional<T>& value, const fs::path& path) {
    if (!json.contains(name)) return;
    const bool fits = std::is_same_v<T, Index> ? json[name].is_number_integer() : json[name].is_number();
    if (!fits) refuse(path, std::string(name) + " = " + json[name].dump());
    value = json[name].get<T>();
}

}  // namespace

fs::path default_tuning_cache() {
    const auto variable = [](const char* name) -> std::string {
        const char* value = std::getenv(name);
        return value == nullptr ? "" : value;
    };
    const std::string cache = variable("XDG_CACHE_HOME");
    // The specification asks to ignore a relative path.
    if (!cache.empty() && fs::path(cache).is_absolute()) return fs::path(cache) / "couplet" / "tuning.json";
    const std::string home = variable("HOME");
    if (home.empty()) {
        throw InputError({"`cache`", "none, and neither XDG_CACHE_HOME nor HOME is set", "a file to keep tunings in",
                          "For example: `cache` tuning.json"});
    }
    return fs::path(home) / ".cache" / "couplet" / "tuning.json";
}

std::optional<Tuning> load_tuning(const fs::path& cache, const TuningKey& key) {
    const Json json = read_cache(cache);
    for (const Json& entry : json["entries"]) {
        if (!matches(entry, key)) continue;
        if (!entry.contains("tuning") || !entry["tuning"].is_object()) refuse(cache, "an entry without a tuning");
        Tuning tuning;
        for_each_parameter(tuning,
                           [&](const char* name, auto& value) { read_parameter(entry["tuning"], name, value, cache); });
        return resolve_tuning(key.method, tuning, key.rank);
    }
    return std::nullopt;
}

void save_tuning(const fs::path& cache, const TuningKey& key, const Tuning& tuning, double rse, Index rounds) {
    Json json = read_cache(cache);
    Json entry{{"key", key_json(key)}, {"tuning", Json::object()}, {"rse", rse}, {"rounds", rounds}};
    for_each_parameter(tuning, [&](const char* name, const auto& value) {
        if (value) entry["tuning"][name] = *value;
    });
    Json entries = Json::array();
    for (const Json& old : json["entries"]) {
        if (!matches(old, key)) entries.push_back(old);
    }
    entries.push_back(std::move(entry));
    json["entries"] = std::move(entries);
    if (cache.has_parent_path()) {
        std::error_code ignored;  // writing the file says what is wrong
        fs::create_directories(cache.parent_path(), ignored);
    }
    const std::string text = json.dump(1) + "\n";
    AtomicFile file(cache, true);
    file.write(std::as_bytes(std::span(text)));
    file.commit();
}

}  // namespace couplet
