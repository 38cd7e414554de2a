#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "couplet/ctt/blocks.hpp"
#include "couplet/io/file_lock.hpp"
#include "couplet/io/made_folder.hpp"
#include "couplet/tensor/tensor.hpp"

namespace couplet::cli {

/// The result of a federation on disk: personal_<k>.npz with core_1 of each client, and features.npz with core_2 ...
/// core_N. Personal cores wait in memory, as each says of which features it is. All files appear together, by finish(),
/// or none.
class ResultFolder {
  public:
    /// Makes the folder; it goes again where nothing is written. Throws InputError when it holds files of these names
    /// and `overwrite` is false, when one of them is an input, or when it is no folder; RunError when another run is
    /// writing there.
    ResultFolder(std::filesystem::path folder, bool overwrite, const std::vector<std::string>& inputs = {});
    ~ResultFolder();
    ResultFolder(const ResultFolder&) = delete;
    ResultFolder& operator=(const ResultFolder&) = delete;

    /// k from 0; `personal` is I1 x R1. Labels that do not fit the rows keep their name only. Written by finish().
    void add_personal(Index k, const Matrix<double>& personal, const ModeLabels& labels,
                      const nlohmann::json& metadata);
    /// Writes everything and removes the files of an older, larger federation. Where nodes have features of their own
    /// they are written as features_<k>.npz, and personal_<k>.npz says that it is of those.
    void finish(const Features& features, const Labels& labels, nlohmann::json metadata,
                const std::vector<Features>& own = {});

  private:
    struct Personal {
        Index client;
        std::string name;
        Matrix<double> core;
        ModeLabels labels;
        nlohmann::json metadata;
    };
    MadeFolder folder_;
    std::optional<FileLock> lock_;  ///< let go last, when what was written is finished or removed
    bool overwrite_;
    std::vector<Personal> waiting_;
};

/// Writes I1 x R1 numbers as a personal model; see ResultFolder::add_personal().
void save_personal(const std::filesystem::path& path, const Matrix<double>& personal, const ModeLabels& labels,
                   const nlohmann::json& metadata, bool overwrite);

/// Writes the shared cores as a features model.
void save_features(const std::filesystem::path& path, const Features& features, const Labels& labels,
                   nlohmann::json metadata, bool overwrite);

}  // namespace couplet::cli
