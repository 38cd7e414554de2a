#include "couplet/experiments/method_bench.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "couplet/experiments/federate.hpp"

namespace couplet {
namespace {

constexpr Index tuning_clients = 4;
constexpr Index tuning_people = 400;

/// The first people of a data set: steps are relative to the data, so what is best for some is good for all.
MemorySource tuning_source(const ExperimentData& data) {
    const auto x = data.dataset.tensor.view();
    return MemorySource(split_rows(x.rows(0, std::min(tuning_people, x.shape()[0])), tuning_clients));
}

SimulationOptions simulation(Index rank, std::uint64_t seed, double heldout) {
    SimulationOptions how;
    how.job.rank = rank;
    how.job.seed = seed;
    how.heldout = heldout;
    return how;
}

double settled_round(const MethodResult& result) {
    for (const TracePoint& point : result.trace) {
        if (point.rse <= 1.05 * result.trace.back().rse) return static_cast<double>(point.round);
    }
    return static_cast<double>(result.simulation.rounds);
}

MethodRun summary(MethodResult result) {
    const double settled = settled_round(result);
    return {.rse = result.simulation.rse,
            .rse_heldout = result.simulation.rse_heldout.value_or(0),
            .rounds = static_cast<double>(result.simulation.rounds),
            .settled = settled,
            .seconds = federation_seconds(result.simulation),
            .bytes = total_bytes(result.simulation),
            .trace = std::move(result.trace)};
}

}  // namespace

MethodBench::MethodBench(std::filesystem::path cache, Effort effort, ProgressSink progress)
    : cache_(std::move(cache)), effort_(effort), progress_(std::move(progress)) {}

std::vector<Method> MethodBench::methods(Index order) {
    std::vector<Method> all;
    for (const Method method : all_methods()) {
        if (method == Method::fedsvd || (is_cp(method) && (method != Method::dpfact || order == 3)))
            all.push_back(method);
    }
    return all;
}

bool MethodBench::has(std::string_view id) {
    const auto all = methods(3);
    return std::any_of(all.begin(), all.end(), [&](Method method) { return to_string(method) == id; });
}

bool MethodBench::trains(std::string_view id) { return has(id) && id != to_string(Method::fedsvd); }

BaselineOptions MethodBench::limits() const {
    BaselineOptions options;
    options.rounds = effort_ == Effort::full ? 75 : effort_ == Effort::quick ? 20 : 5;
    return options;
}

Tuning MethodBench::find_tuning(const TuningKey& key, const ExperimentData& data, std::uint64_t tuning_seed) {
    if (const auto kept = load_tuning(cache_, key)) return *kept;
    if (effort_ != Effort::full) return {};
    const std::string phase = "tune " + std::string(to_string(key.method));
    report(progress_, phase, 0, static_cast<std::int64_t>(grid_size));
    const auto outcome = tune_method(key.method, tuning_source(data), simulation(key.rank, tuning_seed, 0), limits(),
                                     [&](std::size_t trial, const TuningTrial&) {
                                         report(progress_, phase, static_cast<std::int64_t>(trial) + 1,
                                                static_cast<std::int64_t>(grid_size));
                                     });
    const TuningTrial& best = outcome.trials[outcome.best];
    save_tuning(cache_, key, best.tuning, best.rse.value_or(0), best.rounds);
    return best.tuning;
}

Tuning MethodBench::tuning_for(Method method, DataId id, Index rank, std::uint64_t tuning_seed, DataLibrary& library) {
    if (cache_.empty()) return {};
    const std::tuple place{method, id, rank, tuning_seed};
    auto known = tunings_.find(place);
    if (known == tunings_.end()) {
        const auto data = library.open(id, tuning_seed);
        const TuningKey key{method, rank, Loss::square, fingerprint(tuning_source(*data))};
        known = tunings_.emplace(place, std::pair(key, find_tuning(key, *data, tuning_seed))).first;
    }
    const auto& [key, tuning] = known->second;
    const MethodTuning use{std::string(to_string(method)), std::string(data_title(id)), key.data, key.rank,
                           describe(tuning)};
    if (std::find(used_.begin(), used_.end(), use) == used_.end()) used_.push_back(use);
    return tuning;
}

bool MethodBench::outdated(const MethodTuning& tuning) const {
    if (cache_.empty()) return false;
    const auto now = load_tuning(cache_, {parse_method(tuning.method), tuning.rank, Loss::square, tuning.found_for});
    return now && describe(*now) != tuning.parameters;
}

const MethodRun& MethodBench::run(Method method, const ExperimentData& data, std::uint64_t seed, Index clients,
                                  std::uint64_t tuning_seed, DataLibrary& library, double heldout) {
    return run_at(data.rank, method, data, seed, clients, tuning_seed, library, heldout);
}

const MethodRun& MethodBench::run_at(Index rank, Method method, const ExperimentData& data, std::uint64_t seed,
                                     Index clients, std::uint64_t tuning_seed, DataLibrary& library, double heldout) {
    const std::tuple key{method, data.id, rank, seed, clients, heldout};
    BaselineOptions options = limits();
    if (is_cp(method)) options.tuning = tuning_for(method, data.id, rank, tuning_seed, library);
    const auto known = runs_.find(key);
    if (known != runs_.end()) return known->second;
    auto result = run_method(method, data.split(clients), simulation(rank, seed, heldout), options);
    return runs_[key] = summary(std::move(result));
}

MethodRun MethodBench::run_plain(Method method, const ClientSource& source, Index rank, std::uint64_t seed) const {
    return summary(run_method(method, source, simulation(rank, seed, 0), limits()));
}

const Row* least_other(const ExperimentResult& result, std::string_view figure, std::string_view category) {
    const Row* least = nullptr;
    for (const Row& row : result.rows) {
        if (row.figure != figure || row.category != category || !MethodBench::has(row.method)) continue;
        if (least == nullptr || row.y.mean < least->y.mean) least = &row;
    }
    return least;
}

}  // namespace couplet
