#include "couplet/baselines/tune.hpp"
#include "command.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <limits>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "baseline_options.hpp"
#include "couplet/core/error.hpp"
#include "federation.hpp"
#include "format.hpp"
#include "layout.hpp"
#include "simulate_report.hpp"
#include "verb.hpp"

namespace couplet::cli {
namespace {

constexpr const char* every_method = "all";

struct TuneArguments {
    FederationInput input;
    std::string method = every_method;
    JobOptions job;
    BaselineOptions baseline{.rounds = 100};
    std::string cache;
};

struct Tuned {
    Method method;
    TuningOutcome outcome;
    const TuningTrial& best() const { return outcome.trials[outcome.best]; }
};

std::vector<std::string> tunable_names() {
    std::vector<std::string> names{every_method};
    for (const Method method : all_methods()) {
        if (is_cp(method)) names.emplace_back(to_string(method));
    }
    return names;
}

/// With "all", methods that these clients rule out are left out and named.
std::vector<Method> chosen_methods(const TuneArguments& options, const Federation& federation, const Session& session) {
    if (options.method != every_method) return {parse_method(options.method)};
    std::vector<Method> methods;
    for (const Method method : all_methods()) {
        if (!is_cp(method)) continue;
        std::string reason;
        if (method == Method::dpfact && federation.features.order() != 2) reason = "it takes third order only";
        if (network_of(method) == Network::decentralized && federation.clients() < 2) reason = "there is one client";
        const bool logistic =
            method == Method::fedgtf_ef || method == Method::fedgtf_ef_pc || method == Method::cidertf;
        if (options.baseline.loss == Loss::logistic && !logistic) reason = "it has no logistic loss";
        if (reason.empty()) {
            methods.push_back(method);
        } else {
            session.note(fmt::format("{} left out: {}", to_string(method), reason));
        }
    }
    return methods;
}

Tuned tune_one(Method method, const Federation& federation, const TuneArguments& options, const Session& session) {
    try {
        SimulationOptions how{.job = options.job};
        if (network_of(method) == Network::star) how.job.graph = "complete";
        const auto bar = session.progress();
        report(bar, to_string(method), 0, grid_size);
        return {method, tune_method(method, *federation.source, how, options.baseline,
                                    [&](std::size_t trial, const TuningTrial&) {
                                        report(bar, to_string(method), static_cast<std::int64_t>(trial) + 1, grid_size);
                                    })};
    } catch (const InputError& error) {
        throw federation.named(error);
    }
}

Json outcome_json(const Tuned& tuned) {
    Json trials = Json::array();
    for (const TuningTrial& trial : tuned.outcome.trials) {
        trials.push_back({{"tuning", tuning_json(trial.tuning)},
                          {"rse", trial.rse ? Json(*trial.rse) : Json()},
                          {"rounds", trial.rounds},
                          {"bytes", trial.bytes},
                          {"seconds", trial.seconds},
                          {"trace", trace_json(trial.trace)}});
    }
    return {{"method", to_string(tuned.method)},
            {"best", tuned.outcome.best},
            {"tuning", tuning_json(tuned.best().tuning)},
            {"rse", *tuned.best().rse},
            {"rounds", tuned.best().rounds},
            {"bytes", tuned.best().bytes},
            {"seconds", tuned.best().seconds},
            {"trials", std::move(trials)}};
}

std::string outcome_text(const std::vector<Tuned>& all) {
    std::vector<std::vector<std::string>> rows{{"method", "RSE", "worst", "rounds", "sent", "time"}};
    std::vector<std::pair<std::string, std::string>> tunings;
    for (const Tuned& tuned : all) {
        double worst = 0;
        bool diverged = false;
        for (const TuningTrial& trial : tuned.outcome.trials) {
            diverged = diverged || !trial.rse;
            worst = std::max(worst, trial.rse.value_or(0));
        }
        const TuningTrial& best = tuned.best();
        rows.push_back({std::string(to_string(tuned.method)), number_text(*best.rse),
                        diverged ? "diverged" : number_text(worst), count_text(best.rounds),
                        bytes_text(static_cast<Index>(best.bytes)), seconds_text(best.seconds)});
        tunings.emplace_back(to_string(tuned.method), tuning_text(best.tuning));
    }
    return table(rows) + "\n" + fields(tunings);
}

void execute_tune(TuneArguments& options, const Session& session) {
    if (!options.job.rank) {
        throw InputError({"--rank", "none", "the rank of the CP model", "For example: --rank 10"});
    }
    options.job.seed = session.seed();
    const std::filesystem::path cache =
        options.cache.empty() ? default_tuning_cache() : std::filesystem::path(options.cache);
    const Federation federation = open_federation(options.input, session);
    const std::string data = fingerprint(*federation.source);
    const auto key = [&](Method method) { return TuningKey{method, *options.job.rank, options.baseline.loss, data}; };
    const auto methods = chosen_methods(options, federation, session);
    load_tuning(cache, key(methods.front()));  // a file that is no cache is found out before the work
    std::vector<Tuned> all;
    Json results = Json::array();
    for (const Method method : methods) {
        all.push_back(tune_one(method, federation, options, session));
        const TuningTrial& best = all.back().best();
        save_tuning(cache, key(method), best.tuning, *best.rse, best.rounds);
        results.push_back(outcome_json(all.back()));
    }
    const Json json{{"results", std::move(results)},
                    {"rank", *options.job.rank},
                    {"loss", to_string(options.baseline.loss)},
                    {"data", data},
                    {"clients", federation.clients()},
                    {"cache", cache.string()},
                    {"seed", session.seed()},
                    {"version", version()}};
    session.print(json, outcome_text(all) +
                            fmt::format("\nkept in {} for {} at rank {}\n", cache.string(), data, *options.job.rank));
}

Action set_up_tune(Command& app) {
    auto options = std::make_shared<TuneArguments>();
    add_federation_input(app, options->input);
    add_choice(app, "--method", tunable_names(), options->method, "What to tune");
    add_text(app, "--rank", "R", "", "CP rank; required", [options](const auto& text) {
        options->job.rank = parse_count({"--rank", "R", 1, std::numeric_limits<Index>::max()}, text);
    });
    add_text(app, "--graph", "GRAPH", "complete", "Who talks to whom in the decentralized methods, as in simulate",
             [options](const auto& text) { options->job.graph = text; });
    add_text(app, "--weights", "WEIGHTS", "paper", "Mixing weights of the decentralized methods, as in simulate",
             [options](const auto& text) { options->job.weights = text; });
    add_text(app, "--rounds", "N", "100", "Exchanges of a trial at most", [options](const auto& text) {
        options->baseline.rounds = parse_count({"--rounds", "N", 1, 1'000'000, "It is the number of exchanges."}, text);
    });
    add_text(app, "--loss", "square|logistic", "square", "Loss to tune for", [options](const auto& text) {
        options->baseline.loss = parse_loss(parse_choice("--loss", {"square", "logistic"}, text));
    });
    add_text(app, "--cache", "FILE.json", "couplet/tuning.json in $XDG_CACHE_HOME or ~/.cache",
             "Where to keep what is found", [options](const auto& text) { options->cache = text; });
    return [options](Session& session) { execute_tune(*options, session); };
}

}  // namespace

extern const Verb tune_verb{
    .name = "tune",
    .group = federation_group,
    .summary = "find good parameters of the methods we compare with",
    .description =
        "Tries a fixed grid of twelve tunings for each method that trains a CP model, the same number for all, and "
        "keeps the one of least RSE for these data, this rank and this loss. couplet simulate --tuned takes it from "
        "there; other data never do. docs/baselines.md lists the grids.",
    .output =
        "RSE: of the best tuning, and of the worst. sent: all messages. Below, what to type for the best.\n"
        "--json: results (method, best: position in the grid, tuning, rse, rounds, bytes, seconds, trials "
        "(tuning, rse, rounds, bytes, seconds, trace as in simulate)), rank, loss, data (fingerprint: shape, clients, "
        "norm), clients, cache, seed, version. A trial that diverged has an rse of null and no trace.",
    .examples =
        "couplet tune --synthetic 40x8x8 --rank 5 --rounds 20 --cache tuning.json\n"
        "couplet tune a.npy b.npy c.npy --method trip --rank 5 --cache tuning.json\n"
        "couplet simulate a.npy b.npy c.npy --method trip --rank 5 --tuned",
    .common = "split synthetic method rank cache",
    .setup = set_up_tune};

}  // namespace couplet::cli
