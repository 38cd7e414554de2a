#include "couplet/baselines/run_method.hpp"

#include <cmath>
#include <string>
#include <utility>

#include "couplet/core/error.hpp"
#include "couplet/linalg/backend.hpp"
#include "cp_run.hpp"
#include "fedsvd.hpp"

namespace couplet {
namespace {

[[noreturn]] void refuse(const std::string& where, const std::string& found, const std::string& expected,
                         const std::string& remedy = "") {
    throw InputError({where, found, expected, remedy});
}

void check_simulation(Method method, const ClientSource& source, const SimulationOptions& options) {
    const std::string name = "`method` " + std::string(to_string(method));
    if (source.clients() < 1) refuse("clients", "none", "at least one client", "Name at least one tensor file.");
    if (!options.job.rank) refuse("`rank`", "none with " + name, "the rank of the CP model", "For example: `rank` 10");
    if (*options.job.rank < 1) refuse("`rank`", std::to_string(*options.job.rank), "a whole number, at least 1");
    if (!(options.heldout >= 0 && options.heldout < 1)) {
        refuse("`heldout`", std::to_string(options.heldout), "a fraction with 0 <= heldout < 1");
    }
    if (options.heldout > 0 && !options.job.refit.value_or(true)) {
        refuse("`heldout`", "held-out patients without a refit", "`refit`",
               "Without it there is no personal factor for new patients.");
    }
    if (options.dry_run || options.save_state || options.resume) {
        refuse(options.dry_run  ? "`dry_run`"
               : options.resume ? "`resume`"
                                : "`save_state`",
               "given with " + name, "the method ctt");
    }
}

void check_baseline(Method method, const BaselineOptions& baseline) {
    if (baseline.rounds < 1) refuse("`rounds`", std::to_string(baseline.rounds), "at least 1");
    if (baseline.evaluate_every < 1 || baseline.patience < 1) {
        refuse("stopping rule",
               "evaluations every " + std::to_string(baseline.evaluate_every) + " rounds, patience " +
                   std::to_string(baseline.patience),
               "at least 1 of both");
    }
    if (!(baseline.tolerance >= 0 && baseline.tolerance < 1)) {
        refuse("`tolerance`", std::to_string(baseline.tolerance), "0 <= tolerance < 1");
    }
    const bool compresses = method == Method::fedgtf_ef || method == Method::fedgtf_ef_pc || method == Method::cidertf;
    if (baseline.loss == Loss::logistic && !compresses) {
        refuse("`loss`", "logistic with `method` " + std::string(to_string(method)),
               "fedgtf-ef, fedgtf-ef-pc or cidertf, whose papers have it", "Use `loss` square.");
    }
    if (!baseline.compress && !compresses) {
        refuse("`no_compression`", "given with `method` " + std::string(to_string(method)),
               "a method that compresses: fedgtf-ef, fedgtf-ef-pc or cidertf", "Leave it out.");
    }
}

Job cp_job(Method method, const JobOptions& asked) {
    Job job;
    job.network = network_of(method);
    job.rank = asked.rank;
    job.refit = asked.refit.value_or(true);
    job.seed = asked.seed;
    job.graph = asked.graph;
    if (asked.weights) job.consensus.weights = *asked.weights;
    return job;
}

MethodResult run_cp(Method method, const ClientSource& source, SimulationOptions options, BaselineOptions baseline) {
    check_simulation(method, source, options);
    check_baseline(method, baseline);
    const Tuning tuning = resolve_tuning(method, baseline.tuning, *options.job.rank);
    // The training error would be one more release.
    if (tuning.noise.value_or(0) > 0) baseline.tolerance = 0;
    SimulationRun simulation(source, options, cp_job(method, options.job));
    CpRun run(simulation, method, baseline, tuning, *options.job.rank);
    switch (method) {
        case Method::trip:
            train_trip(run);
            break;
        case Method::fedgtf_ef:
            train_fedgtf_ef(run);
            break;
        case Method::fedgtf_ef_pc:
            train_fedgtf_ef_pc(run);
            break;
        case Method::dpfact:
            train_dpfact(run);
            break;
        case Method::dpsgd:
            train_dpsgd(run);
            break;
        default:
            train_cidertf(run);
            break;
    }
    return run.finish();
}

}  // namespace

MethodResult run_method(Method method, const ClientSource& source, SimulationOptions options,
                        const BaselineOptions& baseline) {
    prepare_backend();  // no part of the computation
    if (method != Method::fedsvd) return run_cp(method, source, std::move(options), baseline);
    MethodResult result;
    result.simulation = run_fedsvd(source, std::move(options));
    return result;
}

}  // namespace couplet
