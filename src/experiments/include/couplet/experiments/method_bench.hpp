#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "couplet/baselines/run_method.hpp"
#include "couplet/baselines/tune.hpp"
#include "couplet/experiments/data_library.hpp"
#include "couplet/experiments/result.hpp"

namespace couplet {

/// What a run of a method gave, without its model.
struct MethodRun {
    double rse = 0;
    double rse_heldout = 0;  ///< 0 unless asked for
    double rounds = 0;
    double settled = 0;  ///< rounds after which the error is within 5% of the last; those of all without a trace
    double seconds = 0;  ///< slowest client and coordinator
    double bytes = 0;    ///< all links
    std::vector<TracePoint> trace = {};
};

/// Runs the methods of other papers, tuned where they have parameters, and remembers what they gave: several
/// experiments need the same runs.
class MethodBench {
  public:
    /// `cache`: file of tunings, see tune.hpp; empty: none is read or written.
    MethodBench(std::filesystem::path cache, Effort effort, ProgressSink progress = {});

    /// The methods for a tensor of this order: FedSVD, and those that train in rounds; dpfact takes order 3 only.
    static std::vector<Method> methods(Index order);
    /// Whether a row of this method (an id of style.hpp) is of one of them.
    static bool has(std::string_view id);
    /// Whether it is of one that trains in rounds.
    static bool trains(std::string_view id);

    /// Runs a method at the data's rank on K clients. With full effort its parameters are the best of its grid on the
    /// first 400 people of the same kind of data over four clients, drawn with `tuning_seed`: from the cache, or found
    /// now and kept there. Of a quick run only the cache is asked. Rounds are limited to 75, the most that the paper
    /// lets a method take, or fewer with less effort.
    const MethodRun& run(Method method, const ExperimentData& data, std::uint64_t seed, Index clients,
                         std::uint64_t tuning_seed, DataLibrary& library, double heldout = 0);
    /// The same at another rank, tuned for it.
    const MethodRun& run_at(Index rank, Method method, const ExperimentData& data, std::uint64_t seed, Index clients,
                            std::uint64_t tuning_seed, DataLibrary& library, double heldout = 0);
    /// Runs a method with the same limits, and its default parameters, on clients that are no data set.
    MethodRun run_plain(Method method, const ClientSource& source, Index rank, std::uint64_t seed) const;

    /// The parameters of all runs since the last call, each once.
    std::vector<MethodTuning> take_tunings() { return std::exchange(used_, {}); }
    /// Whether the cache knows other parameters than these by now. Throws InputError for a method that there is not.
    bool outdated(const MethodTuning& tuning) const;

  private:
    BaselineOptions limits() const;
    /// What a run takes; take_tunings() tells of it.
    Tuning tuning_for(Method method, DataId id, Index rank, std::uint64_t tuning_seed, DataLibrary& library);
    Tuning find_tuning(const TuningKey& key, const ExperimentData& data, std::uint64_t tuning_seed);

    std::filesystem::path cache_;
    Effort effort_;
    ProgressSink progress_;
    /// Nothing tuned: without parameters.
    std::map<std::tuple<Method, DataId, Index, std::uint64_t>, std::pair<TuningKey, Tuning>> tunings_;
    std::vector<MethodTuning> used_;
    std::map<std::tuple<Method, DataId, Index, std::uint64_t, Index, double>, MethodRun> runs_;
};

/// The row with the least value among those of methods of other papers, in this figure and category; null when there
/// are none.
const Row* least_other(const ExperimentResult& result, std::string_view figure, std::string_view category);

}  // namespace couplet
