#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "couplet/baselines/run_method.hpp"

namespace couplet {

struct TuningTrial {
    Tuning tuning;                   ///< nothing left open
    std::optional<double> rse = {};  ///< nothing: it diverged
    Index rounds = 0;
    double bytes = 0;
    double seconds = 0;
    std::vector<TracePoint> trace = {};  ///< as it was trained; empty: it diverged
};

struct TuningOutcome {
    std::vector<TuningTrial> trials;  ///< in the order of the grid
    std::size_t best = 0;             ///< least RSE, the fewer bytes on a tie
};

/// Runs every tuning of the method's grid once, with the rounds, loss and stopping rule of `baseline`, and picks the
/// one of least training RSE. `each` hears of every trial. Throws InputError for a method without a grid, RunError when
/// all diverge.
TuningOutcome tune_method(Method method, const ClientSource& source, const SimulationOptions& options,
                          const BaselineOptions& baseline,
                          const std::function<void(std::size_t trial, const TuningTrial&)>& each = {});

/// What a tuning was found for. Other data, rank or loss never takes it.
struct TuningKey {
    Method method = Method::dpsgd;
    Index rank = 1;
    Loss loss = Loss::square;
    std::string data;  ///< fingerprint()
};

/// Shape of all clients together, their number and the norm to nine digits, for example "200x30x30 K=4
/// norm=1.23456789e+03". Reads every client once.
std::string fingerprint(const ClientSource& source);

/// $XDG_CACHE_HOME/couplet/tuning.json, or ~/.cache/couplet/tuning.json.
std::filesystem::path default_tuning_cache();

/// The tuning kept for the key; nothing when there is no such file or entry. Throws InputError for a file that is no
/// tuning cache.
std::optional<Tuning> load_tuning(const std::filesystem::path& cache, const TuningKey& key);

/// Adds or replaces the entry of the key; makes the folder. Atomic, the rest of the file is kept.
void save_tuning(const std::filesystem::path& cache, const TuningKey& key, const Tuning& tuning, double rse,
                 Index rounds);

}  // namespace couplet
