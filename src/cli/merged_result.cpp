#include "merged_result.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <utility>

#include "couplet/core/error.hpp"
#include "couplet/explain/findings.hpp"
#include "couplet/io/data_print.hpp"
#include "couplet/sim/centring_file.hpp"
#include "inputs.hpp"

namespace couplet::cli {
namespace {

namespace fs = std::filesystem;

std::optional<double> number_at(const nlohmann::json& metadata, const char* key) {
    if (!metadata.contains(key) || !metadata[key].is_number()) return std::nullopt;
    return metadata[key].get<double>();
}

bool flag_at(const nlohmann::json& metadata, const char* key, bool usual) {
    return metadata.contains(key) && metadata[key].is_boolean() ? metadata[key].get<bool>() : usual;
}

std::vector<double> sigma_of(const nlohmann::json& metadata) {
    std::vector<double> sigma;
    if (!metadata.contains("sigma") || !metadata["sigma"].is_array()) return sigma;
    for (const auto& value : metadata["sigma"]) {
        if (value.is_number()) sigma.push_back(value.get<double>());
    }
    return sigma;
}

std::string features_file(const std::string& path) {
    std::error_code ignored;
    return fs::is_directory(path, ignored) ? (fs::path(path) / "features.npz").string() : path;
}

/// personal_1.npz, personal_2.npz, ... or the personal.npz of a client.
std::vector<fs::path> personal_files(const fs::path& folder) {
    std::error_code ignored;
    std::vector<fs::path> files;
    for (Index k = 1;; ++k) {
        const fs::path file = folder / fmt::format("personal_{}.npz", k);
        if (!fs::exists(file, ignored)) break;
        files.push_back(file);
    }
    if (files.empty() && fs::exists(folder / "personal.npz", ignored)) files.push_back(folder / "personal.npz");
    return files;
}

std::string site_name(const nlohmann::json& metadata, std::size_t k) {
    const auto names = metadata.find("client_names");
    const bool known = names != metadata.end() && names->is_array() && k < names->size() && (*names)[k].is_string();
    return known ? (*names)[k].get<std::string>() : fmt::format("site {}", k + 1);
}

SiteCore read_site(const Model<double>& features, const std::string& features_path, const fs::path& file, std::size_t k,
                   const Session& session) {
    Model<double> model = to_double(read_model(file.string()));
    const Index rank = features.cores.front().shape()[0];
    if (!model.is_personal() || model.cores.front().shape()[2] != rank) {
        throw InputError({file.string(), "no personal core of these features", "one, as " + features_path + " has",
                          "Keep the files of one run together."});
    }
    if (!require_same_run(features, features_path, model, file.string())) {
        session.note(unmarked_note(file.string(), features_path));
    }
    const Shape shape = model.cores.front().shape();
    return {.name = site_name(features.metadata, k),
            .file = file.string(),
            .personal = Matrix<double>::adopt(std::move(model.cores.front()).release(), shape[1], shape[2]),
            .labels = model.labels.empty() ? ModeLabels{} : model.labels.front(),
            .metadata = std::move(model.metadata)};
}

/// Whether the sites' cores are those of everybody who was merged.
bool are_all(const nlohmann::json& metadata, std::size_t sites) {
    const auto names = metadata.find("client_names");
    return sites > 0 && names != metadata.end() && names->size() == sites && !metadata.contains("resumed_clients");
}

}  // namespace

std::vector<MatrixView<const double>> MergedResult::personal() const {
    std::vector<MatrixView<const double>> views;
    if (!all_sites) return views;
    for (const SiteCore& site : sites) views.push_back(site.personal.view());
    return views;
}

MergedResult read_merged_result(const std::string& path, const Session& session) {
    const std::string file = features_file(path);
    Model<double> model = to_double(read_model(file));
    if (!model.is_features()) {
        throw InputError({file, "no features of a federation", "core_2 ... core_N",
                          "couplet simulate ... -o DIR writes them as DIR/features.npz."});
    }
    MergedResult result{.file = file, .print = features_print(model.cores), .rows = {}};
    for (const fs::path& personal : personal_files(fs::path(file).parent_path())) {
        result.sites.push_back(read_site(model, file, personal, result.sites.size(), session));
    }
    result.metadata = model.metadata;
    result.labels = model.labels;
    result.centring = read_centring(model.metadata, file);
    result.bound = number_at(model.metadata, "rel_error_bound");
    result.all_sites = are_all(model.metadata, result.sites.size());
    const bool projected = flag_at(model.metadata, "refit", false) && !flag_at(model.metadata, "clipped", false) &&
                           !model.metadata.contains("missing");
    if (result.all_sites && projected) result.rse = number_at(model.metadata, "rse");
    const auto sigma = sigma_of(model.metadata);
    result.rows = merged_rows(train_of(std::move(model), file), sigma, file);
    return result;
}

}  // namespace couplet::cli
