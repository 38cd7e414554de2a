#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "couplet/classify/evaluate.hpp"

namespace couplet {

/// Whose predictions a file holds.
struct PredictionSite {
    std::vector<std::string> patients = {};  ///< identifiers; empty: nobody is named
    std::vector<Index> rows = {};            ///< of the site's tensor, from 0; people without a label are left out
};

/// Writes predictions_<k>.csv (k from 1), one per site, readable by the owner alone: row (from 1), patient (where there
/// are identifiers), label, fold (from 1), arm, model, predicted, and p_<class> for each class, with all digits. All
/// files appear, each complete, or none. The folder is made. Returns the files. Throws InputError where a file exists
/// and `overwrite` is false; otherwise those of an evaluation with more sites are removed.
std::vector<std::filesystem::path> write_predictions(const std::filesystem::path& folder, const Evaluation& evaluation,
                                                     const std::vector<PredictionSite>& sites,
                                                     const std::vector<std::string>& classes, bool overwrite);

/// The names that write_predictions() would write.
std::vector<std::filesystem::path> prediction_files(const std::filesystem::path& folder, Index sites);

}  // namespace couplet
