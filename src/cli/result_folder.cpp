#include "result_folder.hpp"

#include <fmt/format.h>

#include <set>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "couplet/core/error.hpp"
#include "couplet/io/data_print.hpp"
#include "couplet/io/model.hpp"
#include "couplet/io/owner_only.hpp"
#include "couplet/io/staged_files.hpp"
#include "signals.hpp"

namespace couplet::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* features_name = "features.npz";

bool is_ours(std::string_view name) {
    if (name == features_name) return true;
    constexpr std::string_view end = ".npz";
    for (const std::string_view front : {"personal_", "features_"}) {
        if (name.size() <= front.size() + end.size() || !name.starts_with(front) || !name.ends_with(end)) continue;
        const auto number = name.substr(front.size(), name.size() - front.size() - end.size());
        if (number.find_first_not_of("0123456789") == std::string_view::npos) return true;
    }
    return false;
}

std::vector<fs::path> files_of_ours(const fs::path& folder) {
    std::vector<fs::path> files;
    for (const auto& entry : fs::directory_iterator(folder)) {
        if (is_ours(entry.path().filename().string())) files.push_back(entry.path());
    }
    return files;
}

}  // namespace

void save_personal(const fs::path& path, const Matrix<double>& personal, const ModeLabels& labels,
                   const nlohmann::json& metadata, bool overwrite) {
    Model<double> model;
    model.cores.push_back(Tensor<double>::copy({personal.data(), Shape{1, personal.rows(), personal.cols()}}));
    if (!labels.name.empty() || !labels.entries.empty()) {
        const bool fits = static_cast<Index>(labels.entries.size()) == personal.rows();
        model.labels = {fits ? labels : ModeLabels{labels.name, {}}};
    }
    model.metadata = metadata;
    const OwnerOnly patients;
    save_model(path, model, overwrite);
}

void save_features(const fs::path& path, const Features& features, const Labels& labels, nlohmann::json metadata,
                   bool overwrite) {
    auto model = to_model(features.train.clone(), 2);
    model.labels = labels;
    model.metadata = std::move(metadata);
    model.metadata["orthonormal"] = features.orthonormal;
    model.metadata["sigma"] = features.sigma;
    save_model(path, model, overwrite);
}

ResultFolder::ResultFolder(fs::path folder, bool overwrite, const std::vector<std::string>& inputs)
    : folder_(std::move(folder)), overwrite_(overwrite) {
    lock_.emplace(lock_folder(folder_.path()));
    const auto old = files_of_ours(folder_.path());
    std::error_code failed;
    for (const fs::path& file : old) {
        for (const std::string& input : inputs) {
            if (!fs::equivalent(file, input, failed)) continue;
            throw InputError({file.string(), "a file that is also an input", "a folder of its own for the result",
                              "Choose another output folder."});
        }
    }
    if (!old.empty() && !overwrite) {
        throw InputError({old.front().string(), "the file exists", "a folder without results",
                          "Choose another output folder, or use --force to replace them."});
    }
    clean_on_interrupt(folder_.path());
}

ResultFolder::~ResultFolder() = default;

void ResultFolder::add_personal(Index k, const Matrix<double>& personal, const ModeLabels& labels,
                                const nlohmann::json& metadata) {
    waiting_.push_back(
        {k, fmt::format("personal_{}.npz", k + 1), Matrix<double>::copy(personal.view()), labels, metadata});
}

void ResultFolder::finish(const Features& features, const Labels& labels, nlohmann::json metadata,
                          const std::vector<Features>& own) {
    const std::string print = features_print(features.train);
    StagedFiles files(folder_.path());
    std::set<std::string> kept{features_name};
    for (std::size_t k = 0; k < own.size(); ++k) {
        const std::string name = fmt::format("features_{}.npz", k + 1);
        save_features(files.add(name), own[k], labels, metadata, false);
        kept.insert(name);
    }
    for (Personal& one : waiting_) {
        one.metadata["features_print"] =
            own.empty() ? print : features_print(own[static_cast<std::size_t>(one.client)].train);
        save_personal(files.add(one.name), one.core, one.labels, one.metadata, false);
        kept.insert(one.name);
        one.core = {};
    }
    save_features(files.add(features_name), features, labels, std::move(metadata), false);
    std::vector<fs::path> stale;
    for (const fs::path& file : files_of_ours(folder_.path())) {
        if (overwrite_ && !kept.contains(file.filename().string())) stale.push_back(file);
    }
    files.commit(overwrite_, stale);
}

}  // namespace couplet::cli
