#include "simulate.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "baseline_options.hpp"
#include "couplet/baselines/run_method.hpp"
#include "couplet/baselines/tune.hpp"
#include "couplet/core/error.hpp"
#include "couplet/io/text.hpp"
#include "couplet/sim/complete.hpp"
#include "couplet/sim/simulate.hpp"
#include "couplet/sim/state_file.hpp"
#include "federation.hpp"
#include "format.hpp"
#include "job_options.hpp"
#include "missing_report.hpp"
#include "phase_lines.hpp"
#include "result_folder.hpp"
#include "simulate_report.hpp"
#include "usage.hpp"
#include "verb.hpp"

namespace couplet::cli {
namespace {

struct Options {
    FederationInput input;
    std::string method = "ctt";
    JobFlags flags;
    BaselineFlags baseline;
    std::string missing = "refuse";
    bool dry_run = false;
    std::string output;
    /// Hears each client's personal core, in the order of the clients; empty: nobody does.
    std::function<void(Index client, const Matrix<double>& personal)> on_personal = {};
};

void check_reference(const CLI::App& app, const Options& options) {
    refuse_given(app,
                 {"--network", "--aggregate", "--eps1", "--bytes", "--bytes-total", "--precision", "--refit",
                  "--no-refit", "--sketch", "--passes", "--graph", "--weights", "--consensus", "--iterations",
                  "--save-state", "--resume", "--dry-run", "--missing"},
                 "--method " + options.method, "it with --method ctt only");
    if (options.method == "local" && !options.output.empty()) {
        throw InputError({"--output", "given with --method local", "a method with shared features",
                          "couplet decompose writes the model of one client."});
    }
}

void check_baseline(const CLI::App& app, const Options& options) {
    const std::string with = "--method " + options.method;
    refuse_given(app,
                 {"--network", "--aggregate", "--eps", "--eps1", "--eps2", "--bytes", "--bytes-total", "--precision",
                  "--sketch", "--passes", "--consensus", "--iterations", "--save-state", "--resume", "--dry-run"},
                 with, "a rank: the method trains a CP model in rounds");
    refuse_given(app, {"--missing"}, with, "it with --method ctt only");
    if (network_of(parse_method(options.method)) == Network::star) {
        refuse_given(app, {"--graph", "--weights"}, with, "it with a decentralized method only");
    }
    if (options.baseline.options.loss == Loss::logistic && !options.output.empty()) {
        throw InputError({"--output", "given with --loss logistic", "--loss square",
                          "The model gives log-odds, and the files of a tensor train cannot say so."});
    }
    if (!options.baseline.tuned) refuse_given(app, {"--cache"}, "no --tuned", "both");
}

/// An option that would do nothing is refused: the user meant something by it.
void check_combination(const CLI::App& app, const Options& options) {
    if (is_cp(parse_method(options.method))) return check_baseline(app, options);
    refuse_given(app, baseline_flag_names(), "--method " + options.method, "it with a method that trains a CP model");
    if (options.method != "ctt") return check_reference(app, options);
    const Job job = resolve_job(options.flags.job);
    if (job.network == Network::star) {
        refuse_given(app, {"--graph", "--weights", "--consensus", "--iterations"}, "--network star",
                     "it with --network decentralized only");
    } else {
        refuse_idle_consensus(app, job);
    }
    if (options.missing == "impute") {
        refuse_given(app, {"--precision", "--bytes", "--bytes-total"}, "--missing impute", "one or the other");
    }
    refuse_idle_flags(app, job);
    if (options.dry_run) {
        refuse_given(app, {"--output", "--save-state", "--heldout"}, "--dry-run", "nothing to fit or to write");
    }
}

/// Patients that take part, as hold_out() counts them.
Index training_rows(Index rows, double heldout) {
    return rows - std::min(rows - 1, static_cast<Index>(std::llround(heldout * static_cast<double>(rows))));
}

void warn_of_caps(const Federation& federation, const Options& options, const Session& session) {
    if (options.method != "ctt" || !options.flags.job.rank ||
        resolve_job(options.flags.job).aggregate == Aggregate::average)
        return;
    constexpr std::size_t most_named = 8;
    std::vector<std::string> capped;
    std::size_t count = 0;
    for (Index k = 0; k < federation.clients(); ++k) {
        const Index rows = training_rows(federation.rows[static_cast<std::size_t>(k)], options.flags.heldout);
        const Index cap = std::min(rows, federation.features.size());
        if (cap >= *options.flags.job.rank) continue;
        if (++count <= most_named) capped.push_back(fmt::format("{} ({})", federation.name(k), cap));
    }
    if (count == 0) return;
    const std::string more = count > most_named ? fmt::format(" and {} more", count - most_named) : "";
    session.note(fmt::format("warning: --rank {} is more than {} of {} clients can give: {}{}; theirs is capped",
                             *options.flags.job.rank, count, federation.clients(), fmt::join(capped, ", "), more));
}

void claim_outputs(const Options& options, const Session& session) {
    session.claim_output(options.flags.save_state, options.input.files);
    if (options.flags.save_state.empty() || options.output.empty()) return;
    const auto features = std::filesystem::path(options.output) / "features.npz";
    if (std::filesystem::path(options.flags.save_state).lexically_normal() != features.lexically_normal()) return;
    throw InputError({"--save-state", shown(options.flags.save_state), "another name than that of the features",
                      "For example: --save-state state.npz"});
}

/// What couplet tune found, under what the user says now.
void take_tuning(const Federation& federation, Options& options) {
    const auto& flags = options.baseline;
    if (!flags.tuned || !options.flags.job.rank) return;
    const std::filesystem::path cache =
        flags.cache.empty() ? default_tuning_cache() : std::filesystem::path(flags.cache);
    const TuningKey key{parse_method(options.method), *options.flags.job.rank, flags.options.loss,
                        fingerprint(*federation.source)};
    auto found = load_tuning(cache, key);
    if (!found) {
        throw InputError(
            {"--tuned",
             fmt::format("nothing in {} for {} at rank {} on {}", cache.string(), options.method, key.rank, key.data),
             "a tuning of these data", "Run couplet tune with the same clients, --method and --rank."});
    }
    Tuning& asked = options.baseline.options.tuning;
    asked = overlay(*found, asked);
}

MethodResult compute(const Federation& federation, const Options& options, SimulationOptions how) {
    try {
        if (options.missing == "impute") {
            MethodResult result;
            result.simulation = simulate_missing(*federation.source, {.simulation = std::move(how)});
            return result;
        }
        return run_method(parse_method(options.method), *federation.source, std::move(how), options.baseline.options);
    } catch (const InputError& error) {
        throw federation.named(error);
    }
}

nlohmann::json features_metadata(const Json& json) {
    nlohmann::json metadata;
    for (const char* field : {"rse", "rel_error_bound", "method", "network", "aggregate", "clients", "resumed_clients",
                              "missing", "seed", "version"}) {
        if (json.contains(field)) metadata[field] = json[field];
    }
    return metadata;
}

/// Goes on from a saved merge: its errors and rank are taken over where the user gives none.
void take_up(const CLI::App& app, Options& options, SimulationOptions& how) {
    const std::string& path = options.flags.resume;
    if (path.empty()) return;
    SavedMerge merge = load_state(path);
    require_resumable(merge, how.scale_clients, path);
    take_errors(app, merge, options.flags.job);
    how.job = options.flags.job;
    if (how.schema && *how.schema != merge.schema) {
        throw InputError({"--schema", shown(options.flags.schema) + ", which differs from that of the merge",
                          "the schema in " + path, "Leave it out: a saved merge has its own."});
    }
    how.resume = std::move(merge);
}

/// The same patients under another name would count twice.
void warn_of_known_data(const SimulationResult& result, const Session& session) {
    if (!result.state || result.state->scale_clients) return;
    const auto& all = result.state->contributions;
    for (std::size_t i = 0; i < all.size(); ++i) {
        for (std::size_t j = 0; j < i; ++j) {
            const Ledger& a = all[i].state.ledger;
            const Ledger& b = all[j].state.ledger;
            if (a.norm2 == 0 || a.norm2 != b.norm2 || a.rows != b.rows) continue;
            session.note(fmt::format("warning: {} and {} have the same patients, as it seems: they count twice",
                                     all[j].client, all[i].client));
        }
    }
}

void tell_order(const SimulationReport& report, const Session& session) {
    const auto& moved = report.result.reordered;
    for (std::size_t k = 0; k < moved.size(); ++k) {
        if (moved[k].empty()) continue;
        session.note(fmt::format("note: {}: {}", report.federation.name(static_cast<Index>(k)), moved[k]));
    }
}

SimulationReport run(const CLI::App& app, Options& options, const Session& session) {
    options.flags.job.seed = session.seed();
    options.input.missing = options.missing == "impute";
    options.input.missing_remedy =
        "Let --missing impute with --rank R fill them (method ctt), or replace or remove missing values first.";
    check_combination(app, options);
    claim_outputs(options, session);
    SimulationOptions how{.job = options.flags.job,
                          .scale_clients = options.flags.preparation().scale_clients,
                          .heldout = options.flags.heldout,
                          .schema = given_schema(options.flags),
                          .save_state = !options.flags.save_state.empty(),
                          .dry_run = options.dry_run,
                          .progress = phase_lines(session)};
    SimulationReport report{.federation = open_federation(options.input, session),
                            .result = {},
                            .method = options.method,
                            .dry_run = options.dry_run,
                            .output = options.output,
                            .state = options.flags.save_state,
                            .seed = session.seed(),
                            .loss = options.baseline.options.loss};
    const Federation& federation = report.federation;
    how.names = federation.identities;
    take_up(app, options, how);
    take_tuning(federation, options);
    report.tuned = options.baseline.tuned;
    warn_of_caps(federation, options, session);
    std::optional<ResultFolder> folder;
    how.on_personal = options.on_personal;
    if (!options.output.empty()) {
        folder.emplace(options.output, session.force());
        how.on_personal = [&](Index k, const Matrix<double>& personal) {
            if (options.on_personal) options.on_personal(k, personal);
            const auto at = static_cast<std::size_t>(k);
            const bool labelled = !federation.personal_labels.empty();
            folder->add_personal(k, personal, labelled ? federation.personal_labels[at] : ModeLabels{},
                                 {{"client", k + 1}, {"version", version()}});
        };
    }
    MethodResult done = compute(federation, options, std::move(how));
    report.result = std::move(done.simulation);
    tell_order(report, session);
    warn_of_known_data(report.result, session);
    report.tuning = done.tuning;
    report.trace = std::move(done.trace);
    report.stopped = done.stopped;
    report.privacy = done.privacy;
    if (report.result.state) save_state(options.flags.save_state, *report.result.state, session.force());
    if (folder) {
        folder->finish(*report.result.features, report.result.schema.modes, features_metadata(simulation_json(report)));
    }
    return report;
}

void execute(const CLI::App& app, Options& options, const Session& session) {
    const SimulationReport report = run(app, options, session);
    session.print(simulation_json(report), simulation_text(report));
    require_settled(report.result.missing);
}

void add_method_options(CLI::App& app, const std::shared_ptr<Options>& options) {
    JobOptions& job = options->flags.job;
    add_choice(app, "--method", method_names(), options->method,
               "ctt: the federation; centralized: all rows on one pile, what it is measured against; local: every "
               "client alone with features of its own; fedsvd: masked rows on one pile; the others train a CP model "
               "of rank --rank in rounds, dpsgd and cidertf among peers");
    add_word(app, "--network", {"star", "decentralized"}, "star",
             "A coordinator in the middle, or clients that talk to neighbours",
             [&job](const auto& text) { job.network = parse_network(text); });
}

void add_network_options(CLI::App& app, const std::shared_ptr<Options>& options) {
    JobOptions& job = options->flags.job;
    add_text(app, "--graph", "GRAPH", "complete",
             "decentralized: who talks to whom. complete, ring, star, path, grid, random:S (density S), paper8, or "
             "file:PATH with two node numbers a line",
             [&job](const auto& text) { job.graph = text; });
    add_consensus_flags(app, options->flags);
}

void add_options(CLI::App& app, const std::shared_ptr<Options>& options) {
    add_federation_input(app, options->input);
    add_method_options(app, options);
    add_job_flags(app, options->flags);
    add_network_options(app, options);
    add_schema_flags(app, options->flags);
    add_choice(app, "--missing", {"refuse", "impute"}, options->missing,
               "NaN: an error, or an entry that nobody knows. impute: every client fills its own with its model, and "
               "the federation is run again until they settle (relative change 1e-5; exit status 1 when 200 times are "
               "not enough); needs --rank");
    add_data_flags(app, options->flags);
    app.add_flag("--dry-run", options->dry_run, "Only say what would be sent: ranks, numbers and bytes");
    app.add_option("-o,--output", options->output, "Folder for features.npz and personal_<k>.npz; made if not there")
        ->type_name("DIR");
    add_training_options(app, options->baseline.options);
    add_tuning_options(app, options->baseline.options.tuning);
    add_cache_options(app, options->baseline);
}

Action setup(CLI::App& app) {
    auto options = std::make_shared<Options>();
    add_options(app, options);
    return [options, &app](Session& session) { execute(app, *options, session); };
}

}  // namespace

std::vector<EmbeddedFlag> simulation_flags() {
    CLI::App app("", "simulate");
    app.set_help_flag();
    Globals globals;
    add_globals(app, globals);
    add_options(app, std::make_shared<Options>());
    std::vector<EmbeddedFlag> flags;
    for (const CLI::Option* option : app.get_options([](const CLI::Option* one) { return one->nonpositional(); })) {
        for (const std::string& name : option->get_lnames()) {
            flags.push_back({.name = name, .takes_value = option->get_expected_max() > 0});
        }
    }
    return flags;
}

EmbeddedResult run_simulation(EmbeddedSimulation simulation) {
    CLI::App root("", "couplet");
    root.set_help_flag();
    CLI::App& app = *root.add_subcommand("simulate");
    app.set_help_flag();
    auto options = std::make_shared<Options>();
    Globals globals;
    add_globals(app, globals);
    add_options(app, options);
    app.allow_extras();
    std::vector<std::string> arguments(simulation.arguments.rbegin(), simulation.arguments.rend());
    arguments.emplace_back("simulate");  // CLI11 takes them from the back
    try {
        root.parse(std::move(arguments));
    } catch (const CLI::ParseError& error) {
        refuse_leftovers(root);
        throw explained(error, root);
    }
    refuse_leftovers(root);
    options->input.tensors = std::move(simulation.clients);
    options->input.names = std::move(simulation.names);
    EmbeddedResult result;
    options->on_personal = [&](Index, const Matrix<double>& personal) {
        result.personal.push_back(Matrix<double>::copy(personal.view()));
    };
    const Session session(globals, "couplet simulate", std::move(simulation.listener));
    SimulationReport report = run(app, *options, session);
    result.json = simulation_json(report);
    result.features = std::move(report.result.features);
    result.feature_labels = std::move(report.result.schema.modes);
    return result;
}

extern const Verb simulate_verb{
    .name = "simulate",
    .group = federation_group,
    .summary = "run a whole federation in this process",
    .description =
        "Every client holds patients of its own; all have the same features. They find common feature cores without "
        "showing their tensors: each compresses its own, the coordinator (or the neighbours) merges what was sent, and "
        "each fits its patients to the result. The programs of a real federation are run, so ranks, rounds and numbers "
        "sent are those of the network.\n\n"
        "Clients come from files, from one file with --split, or from --synthetic. Give --rank for features of a fixed "
        "size, --eps for a certified error, or --bytes for what the messages may take.",
    .output =
        "RSE: squared error over squared norm, of all clients together; its root is the relative error. rank: what the "
        "client sends. ranks: R_1 ... R_N of the shared cores. sent: numbers in cores and sums, messages as bytes.\n"
        "--json: rse, rse_heldout (with --heldout), rse_per_client, rel_error_bound (of sqrt(rse); stack), ranks, "
        "personal_ranks, rounds, numbers_up_per_client and numbers_down_per_client (means; decentralized: per node and "
        "link, all counted up), numbers_total, bytes_up, bytes_down, bytes_total (all clients), bytes_raw (the data in "
        "64-bit numbers), seconds {clients_max, clients_sum, "
        "server, total}, consensus {lambda2, iterations, error} (decentralized), missing {fraction, "
        "iterations, change, settled, means_weight, validation, rse_validation, rse_means} (with --missing impute; rse "
        "then counts the known entries), method, network, aggregate "
        "(ctt), "
        "clients, "
        "resumed_clients, dry_run, seed, version, output, state. With --dry-run nothing is fitted: no rse. With "
        "--method local ranks are the largest over the clients; with centralized and "
        "fedsvd the data itself is counted as sent. CP methods add loss, tuning, tuned, stopped (converged or rounds), "
        "trace (round, rse as trained, numbers, bytes, seconds) and, with --gradient-noise, privacy {epsilon, delta, "
        "releases}.\n"
        "-o: features.npz holds core_2 ... core_N, personal_<k>.npz core_1 of client k; their product is the client's "
        "tensor.\n"
        "--missing impute: up to 5% of the known entries of every client are kept from the features (validation: how "
        "many); rse_validation is the error on them, rse_means that of each feature's mean at the client. A hidden "
        "entry lies between the model and that mean; means_weight, from 0 to 1, is what predicts the kept entries "
        "best. Without settling (settled: false) the result is written and marked, and the exit status is 1.",
    .examples =
        "couplet simulate a.npy b.npy c.npy --rank 20\n"
        "couplet simulate --split 4 X.npy --eps 0.05 -o result\n"
        "couplet simulate --split 4 X.npy --bytes 100kB\n"
        "couplet simulate --synthetic 200x30x30 --clients 4 --rank 20\n"
        "couplet simulate --synthetic 200x30x30 --rank 20 --method centralized\n"
        "couplet simulate --synthetic 200x30x30 --rank 20 --method trip --rounds 20\n"
        "couplet simulate a.npy b.npy c.npy --network decentralized --rank 20\n"
        "couplet simulate a.npy b.npy c.npy --rank 20 --missing impute\n"
        "couplet simulate a.npy b.npy --rank 20 --save-state state.npz\n"
        "couplet simulate c.npy --rank 20 --resume state.npz -o result",
    .setup = setup};

}  // namespace couplet::cli
