#include "couplet/baselines/tune.hpp"

#include <cmath>
#include <cstdio>
#include <string>
#include <utility>

#include "couplet/core/error.hpp"
#include "couplet/linalg/products.hpp"

namespace couplet {
namespace {

TuningTrial try_tuning(Method method, const ClientSource& source, const SimulationOptions& options,
                       BaselineOptions baseline, const Tuning& tuning) {
    baseline.tuning = tuning;
    TuningTrial trial{.tuning = resolve_tuning(method, tuning, options.job.rank.value_or(1))};
    try {
        MethodResult result = run_method(
            method, source, {.job = options.job, .scale_clients = options.scale_clients, .heldout = options.heldout},
            baseline);
        trial.rse = result.simulation.rse;
        trial.rounds = result.simulation.rounds;
        trial.bytes = result.simulation.bytes_up + result.simulation.bytes_down;
        trial.seconds = result.simulation.seconds.total;
        trial.trace = std::move(result.trace);
    } catch (const RunError&) {
        // It diverged: an answer, not a failure.
    }
    return trial;
}

bool better(const TuningTrial& a, const TuningTrial& b) {
    if (!a.rse || !b.rse) return a.rse.has_value();
    return *a.rse != *b.rse ? *a.rse < *b.rse : a.bytes < b.bytes;
}

}  // namespace

TuningOutcome tune_method(Method method, const ClientSource& source, const SimulationOptions& options,
                          const BaselineOptions& baseline,
                          const std::function<void(std::size_t, const TuningTrial&)>& each) {
    if (!is_cp(method)) {
        throw InputError(
            {"`method`", std::string(to_string(method)), "a method with parameters to tune", "The others have none."});
    }
    TuningOutcome outcome;
    for (const Tuning& tuning : tuning_grid(method)) {
        outcome.trials.push_back(try_tuning(method, source, options, baseline, tuning));
        if (better(outcome.trials.back(), outcome.trials[outcome.best])) outcome.best = outcome.trials.size() - 1;
        if (each) each(outcome.trials.size() - 1, outcome.trials.back());
    }
    if (!outcome.trials[outcome.best].rse) {
        throw RunError({std::string(to_string(method)), "every tuning of the grid diverged", "one that converges",
                        "Try another rank."});
    }
    return outcome;
}

std::string fingerprint(const ClientSource& source) {
    double norm2 = 0;
    std::vector<Index> sizes;
    for (Index k = 0; k < source.clients(); ++k) {
        const auto x = source.client(k);
        norm2 += squared_norm(x->view().unfold(1));
        const auto own = x->shape().sizes();
        if (k == 0) {
            sizes.assign(own.begin(), own.end());
        } else {
            sizes[0] += own[0];
        }
    }
    char norm[32];
    std::snprintf(norm, sizeof norm, "%.8e", std::sqrt(norm2));
    return Shape(std::move(sizes)).to_string() + " K=" + std::to_string(source.clients()) + " norm=" + norm;
}

}  // namespace couplet
