#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "couplet/core/progress.hpp"
#include "couplet/experiments/data_library.hpp"
#include "couplet/experiments/method_bench.hpp"
#include "couplet/experiments/result.hpp"

namespace couplet {

struct ExperimentSettings {
    std::uint64_t seed = 0;
    Index repeats = 3;  ///< other data of the same kind in each
    Effort effort = Effort::full;
    std::optional<std::filesystem::path> data = {};  ///< folder of the public data; without, COUPLET_DATA
    std::filesystem::path tuning_cache = {};         ///< tunings of the baselines; empty: none
    ProgressSink progress = {};
    Spelling spelling = {};  ///< how those who read results and report write parameters
};

/// What experiments work with, shared so that several can use the same data and runs.
struct Lab {
    explicit Lab(ExperimentSettings how)
        : settings(std::move(how)),
          data(settings.data, settings.effort, settings.spelling),
          methods(settings.tuning_cache, settings.effort, settings.progress) {}

    /// Seed of repeat r, from 0.
    std::uint64_t seed(Index repeat) const noexcept { return settings.seed + static_cast<std::uint64_t>(repeat); }
    /// One of three by effort.
    template <class T>
    T by_effort(T full, T quick, T tiny) const {
        return settings.effort == Effort::full ? full : settings.effort == Effort::quick ? quick : tiny;
    }

    ExperimentSettings settings;
    DataLibrary data;
    MethodBench methods;
};

/// One experiment: a named unit that turns a lab into rows.
struct Experiment {
    std::string_view name;
    std::string_view title;
    std::string_view about;  ///< what is asked and how, one paragraph
    std::string_view paper;  ///< where it is in the paper; empty: ours
    std::vector<DataId> data;
    ExperimentResult (*run)(Lab& lab);
};

/// All experiments in the order of the report.
std::span<const Experiment* const> experiments();

/// The experiments with these names, in the order of the report; all of them when there are none. Throws InputError for
/// an unknown name, with the names there are.
std::vector<const Experiment*> find_experiments(std::span<const std::string> names);

}  // namespace couplet
