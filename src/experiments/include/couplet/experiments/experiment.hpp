#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "couplet/core/progress.hpp"
#include "couplet/experiments/data_library.hpp"
#include "couplet/experiments/result.hpp"

namespace couplet {

struct ExperimentSettings {
    std::uint64_t seed = 0;
    Index repeats = 3;  ///< other data of the same kind in each
    Effort effort = Effort::full;
    /// Where tunings of the baselines are kept and looked for.
    std::filesystem::path tuning_cache = {};
    ProgressSink progress = {};
};

/// One experiment: a named unit that turns settings and data into rows.
struct Experiment {
    std::string_view name;
    std::string_view title;
    std::string_view about;  ///< what is asked and how, one paragraph
    std::string_view paper;  ///< where it is in the paper; empty: ours
    std::vector<DataId> data;
    ExperimentResult (*run)(const ExperimentSettings& settings, DataLibrary& data);
};

/// All experiments in the order of the report.
std::span<const Experiment* const> experiments();

/// The experiments with these names, in the order of the report; all of them when there are none. Throws InputError for
/// an unknown name, with the names there are and the nearest one.
std::vector<const Experiment*> find_experiments(std::span<const std::string> names);

}  // namespace couplet
