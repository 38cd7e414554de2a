#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "couplet/experiments/experiment.hpp"

namespace couplet {

struct ReproduceOptions {
    std::vector<const Experiment*> experiments = {};
    std::filesystem::path folder = {};
    ExperimentSettings settings = {};
    bool force = false;  ///< compute again what is finished, and replace files of other making
    /// Hears of every experiment when it is finished, or reused.
    std::function<void(const ExperimentResult& result, bool reused)> on_result = {};
    /// Hears, once for each data set, that its file is not the published one.
    std::function<void(const std::string& note)> on_note = {};
};

struct ReproduceOutcome {
    std::vector<ExperimentResult> results = {};  ///< of the report: those asked for, and others finished in the folder
    std::vector<std::string> reused = {};        ///< names of those asked for that were there already
};

/// Runs experiments and leaves NAME.json, NAME.csv and report.html in a folder; see docs/reproduce.md. An experiment
/// whose NAME.json is there with the same parameters, computed from the same data files, is not computed again, so an
/// interrupted run goes on where it was; one that lacked data then is computed when the data is there now, one
/// whose methods are tuned otherwise by now is computed again, and one whose data is no longer there is kept.
/// Everything is checked before anything is computed: throws InputError for a folder that cannot be written, results of
/// other parameters or other data files, files of another making under these names, and data files or a tuning cache
/// that are damaged. Other files in the folder are left alone. A data file with another number of rows than the
/// published one is used, and the report says so.
ReproduceOutcome reproduce(const ReproduceOptions& options);

}  // namespace couplet
