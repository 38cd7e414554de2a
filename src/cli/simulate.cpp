#include "simulate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "baseline_options.hpp"
#include "centred_federation.hpp"
#include "command.hpp"
#include "couplet/baselines/tune.hpp"
#include "couplet/core/error.hpp"
#include "couplet/io/text.hpp"
#include "couplet/linalg/products.hpp"
#include "couplet/privacy/secure_sum.hpp"
#include "couplet/shield/simulate_shielded.hpp"
#include "couplet/sim/centring_file.hpp"
#include "couplet/sim/complete.hpp"
#include "couplet/sim/simulate.hpp"
#include "couplet/sim/state_file.hpp"
#include "federation.hpp"
#include "format.hpp"
#include "job_options.hpp"
#include "missing_report.hpp"
#include "phase_lines.hpp"
#include "privacy_options.hpp"
#include "private_simulation.hpp"
#include "result_folder.hpp"
#include "simulate_report.hpp"
#include "simulation_method.hpp"
#include "usage.hpp"
#include "verb.hpp"
#include "weight_option.hpp"

namespace couplet::cli {
namespace {

struct SimulateArguments {
    FederationInput input;
    std::string method = "ctt";
    JobFlags flags;
    BaselineFlags baseline;
    PrivacyFlags privacy;
    bool rank_auto = false;  ///< --rank auto
    CentringOptions centring;
    std::string weight = "auto";
    std::string missing = "refuse";
    bool dry_run = false;
    std::string output;
    /// Hears each client's personal core, in the order of the clients; empty: nobody does.
    std::function<void(Index client, const Matrix<double>& personal)> on_personal = {};
};

/// The job as it will be: a rank that is still to be chosen is one.
Job job_to_be(const SimulateArguments& options) {
    JobOptions job = options.flags.job;
    if (options.rank_auto) job.rank = 1;
    return resolve_job(job);
}

void check_reference(const Command& app, const SimulateArguments& options) {
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

void check_baseline(const Command& app, const SimulateArguments& options) {
    const std::string with = "--method " + options.method;
    refuse_given(app,
                 {"--network", "--aggregate", "--eps", "--eps1", "--eps2", "--bytes", "--bytes-total", "--precision",
                  "--sketch", "--passes", "--consensus", "--iterations", "--save-state", "--resume", "--dry-run"},
                 with, "a rank: the method trains a CP model in rounds");
    refuse_given(app, {"--missing", "--centre", "--scale", "--weight"}, with, "it with --method ctt only");
    if (network_of(*baseline_named(options.method)) == Network::star) {
        refuse_given(app, {"--graph", "--weights"}, with, "it with a decentralized method only");
    }
    if (options.baseline.options.loss == Loss::logistic && !options.output.empty()) {
        throw InputError({"--output", "given with --loss logistic", "--loss square",
                          "The model gives log-odds, and the files of a tensor train cannot say so."});
    }
    if (!options.baseline.tuned) refuse_given(app, {"--cache"}, "no --tuned", "both");
}

/// What --centre, --scale or --weight the user gave, of which one was.
const char* centring_given(const CentringOptions& centring) {
    return centring.weight != Weight::none ? "--weight" : centring.centre ? "--centre" : "--scale";
}

/// What a job whose sums are noised within a budget has no use for, or no budget for.
void check_budget(const Command& app, const SimulateArguments& options) {
    refuse_given(app, {"--sketch", "--passes"}, "a budget: sums of modes and of their core are asked for",
                 "it with --policy off only");
    if (options.centring.any()) {
        throw InputError({centring_given(options.centring), "given with a budget",
                          "--policy off, or features that are centred before",
                          "Means are a release that the budget does not have."});
    }
    if (options.flags.preparation().scale_clients) {
        throw InputError({"--scale-clients", "norm with a budget", "none",
                          "One patient changes the norm, and so every record of the client: no noise covers that."});
    }
}

void check_privacy(const Command& app, const SimulateArguments& options, const Job& job) {
    const PrivacyFlags& privacy = options.privacy;
    const auto budget = budget_options(privacy);
    if (!budget) refuse_given(app, {"--dp-delta", "--dp-noise"}, "no budget", "--mu or --dp-epsilon as well");
    if (!privacy.any()) return;
    if (options.rank_auto) {
        throw InputError({"--rank", "auto with sums that are masked, clipped or noised", "a rank", "Give --rank R."});
    }
    refuse_given(app, {"--save-state", "--resume", "--weights", "--consensus", "--iterations"},
                 "sums that are masked, clipped or noised", "one or the other");
    if (options.missing == "impute") {
        refuse_given(app, {"--missing"}, "sums that are masked, clipped or noised", "complete data");
    }
    if (job.network == Network::decentralized && !privacy.secure) {
        throw InputError({"--network", "decentralized with a policy or noise, but without --secure", "--secure as well",
                          "A peer shows its neighbours its own sums otherwise."});
    }
    if (budget) return check_budget(app, options);
    refuse_given(app, {"--dry-run"}, "sums without a budget", "one or the other");
    // Their sums would travel beside the protected ones as they are.
    if (!privacy.secure)
        refuse_given(app, {"--centre", "--scale", "--weight"}, "a clip, but without --secure", "--secure as well");
}

void check_centring(const Command& app, const SimulateArguments& options) {
    const CentringOptions& centring = options.centring;
    if (!centring.any()) return;
    const char* given = centring_given(centring);
    if (centring.weight != Weight::none && (centring.centre || centring.scale)) {
        throw InputError({"--weight", "given with --centre or --scale", "one or the other",
                          "A weight takes the prevalences out and brings the labels to one scale."});
    }
    refuse_given(app, {"--resume", "--save-state"}, given, "one or the other");
    if (options.missing == "impute" && centring.weight != Weight::none) {
        throw InputError({given, "given with --missing impute", "one or the other",
                          "A weight is of presences, which are known: leave --missing out."});
    }
}

/// What keeps data with labels that every patient has from being weighted where nobody speaks of weights; empty:
/// nothing.
std::string weight_obstacle(const SimulateArguments& options) {
    const PrivacyFlags& privacy = options.privacy;
    if (options.method != "ctt") return "--method " + options.method;
    if (options.centring.any()) return centring_given(options.centring);
    if (options.missing == "impute") return "--missing impute";
    if (!options.flags.resume.empty()) return "--resume";
    if (!options.flags.save_state.empty()) return "--save-state";
    if (budget_options(privacy)) return "a budget of noise";
    if (privacy.any() && !privacy.secure) return "sums that are clipped but not masked";
    return "";
}

/// An option that would do nothing is refused: the user meant something by it.
void check_combination(const Command& app, const SimulateArguments& options) {
    if (options.method != "ctt") {
        refuse_given(app, privacy_flag_names, "--method " + options.method, "it with --method ctt only");
    }
    if (options.rank_auto && options.method != "ctt") {
        throw InputError({"--rank", "auto with --method " + options.method, "a rank", "Give --rank R."});
    }
    if (trains_cp(options.method)) return check_baseline(app, options);
    refuse_given(app, baseline_flag_names(), "--method " + options.method, "it with a method that trains a CP model");
    if (options.method != "ctt" && options.centring.any()) {
        throw InputError({centring_given(options.centring), "given with --method " + options.method,
                          "it with --method ctt only", "Leave it out."});
    }
    if (options.method != "ctt") return check_reference(app, options);
    const Job job = job_to_be(options);
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
    check_privacy(app, options, job);
    check_centring(app, options);
    if (options.rank_auto) {
        refuse_given(app, {"--eps", "--bytes", "--bytes-total", "--resume", "--dry-run"}, "--rank auto",
                     "a rank, or nothing but --rank auto");
        if (options.missing == "impute" || !job.refit) {
            throw InputError({"--rank", "auto without a refit of complete data", "a rank", "Give --rank R."});
        }
    }
    if (options.dry_run) {
        refuse_given(app, {"--output", "--save-state", "--heldout"}, "--dry-run", "nothing to fit or to write");
    }
}

/// Patients that take part, as hold_out() counts them.
Index training_rows(Index rows, double heldout) {
    return rows - std::min(rows - 1, static_cast<Index>(std::llround(heldout * static_cast<double>(rows))));
}

void warn_of_caps(const Federation& federation, const SimulateArguments& options, const Session& session) {
    if (options.method != "ctt" || !options.flags.job.rank || options.privacy.budget() ||
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

void claim_outputs(const SimulateArguments& options, const Session& session) {
    session.claim_output(options.flags.save_state, options.input.files);
    if (options.flags.save_state.empty() || options.output.empty()) return;
    const auto features = std::filesystem::path(options.output) / "features.npz";
    if (std::filesystem::path(options.flags.save_state).lexically_normal() != features.lexically_normal()) return;
    throw InputError({"--save-state", shown(options.flags.save_state), "another name than that of the features",
                      "For example: --save-state state.npz"});
}

/// What couplet tune found, under what the user says now.
void take_tuning(const Federation& federation, SimulateArguments& options) {
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

void warn_of_weak_guarantee(const BudgetOptions& budget, const Session& session) {
    constexpr std::int64_t usual_patients = 1000;
    const PrivacyGuarantee guarantee{epsilon_of_mu(budget.mu, budget.delta), budget.delta};
    // Of mu 4 itself, the default, the documents say what it was chosen by.
    if (budget.mu <= usual_mu && budget.delta * static_cast<double>(usual_patients) < 1) return;
    const std::string why = weakness(guarantee, usual_patients);
    if (!why.empty()) session.note("warning: " + why);
}

/// Sums of every feature over all patients that --centre, --scale and --weight show, a direction each.
Index feature_sums_of(const CentringOptions& centring) { return (centring.sums() ? 1 : 0) + (centring.scale ? 1 : 0); }

/// Sums without a guarantee: masked, clipped, or both.
SimulationResult compute_shielded(const Federation& federation, const SimulateArguments& options, SimulationOptions how,
                                  const Session& session, SimulationReport& report) {
    warn_of_masking(options.privacy, session);
    if (options.centring.any()) {
        session.note(
            "warning: means and scales are sums over all patients as their records are, not clipped, and part of the "
            "result: of a feature that few people have they say how many");
    }
    auto done = simulate_shielded(*federation.source, std::move(how),
                                  {.secure = options.privacy.secure,
                                   .clip = options.privacy.clip,
                                   .limits = {.shown_before = feature_sums_of(options.centring)},
                                   .sums_before = feature_sums_of(options.centring)});
    report.shield = std::make_shared<const ShieldReport>(std::move(done.privacy));
    return std::move(done.simulation);
}

SimulationResult compute_private(const Federation& federation, const BudgetOptions& budget, SimulationOptions how,
                                 const Session& session, SimulationReport& report) {
    warn_of_weak_guarantee(budget, session);
    auto done = simulate_budget(*federation.source, std::move(how), budget);
    const std::string useless = uselessness(done.privacy);
    if (!useless.empty()) session.note("warning: " + useless);
    report.budget = std::make_shared<const BudgetReport>(std::move(done.privacy));
    return std::move(done.simulation);
}

MethodResult compute(const SimulateArguments& options, SimulationOptions how, const Session& session,
                     SimulationReport& report) {
    const Federation& federation = report.federation;
    try {
        if (options.privacy.any()) {
            MethodResult result;
            const auto budget = budget_options(options.privacy);
            result.simulation = budget ? compute_private(federation, *budget, std::move(how), session, report)
                                       : compute_shielded(federation, options, std::move(how), session, report);
            return result;
        }
        if (options.missing == "impute") {
            MethodResult result;
            result.simulation = simulate_missing(*federation.source, {.simulation = std::move(how)});
            return result;
        }
        return run_simulation(options.method, *federation.source, std::move(how), options.baseline.options);
    } catch (const InputError& error) {
        throw federation.named(error);
    }
}

nlohmann::json features_metadata(const SimulationReport& report) {
    const Json json = simulation_json(report);
    nlohmann::json metadata;
    if (!report.centring.empty()) metadata["centring"] = centring_json(report.centring);
    for (Index k = 0; k < report.federation.clients(); ++k) {
        metadata["client_names"].push_back(report.federation.site(k));
    }
    for (const char* field :
         {"method", "weight", "network", "aggregate", "clients", "resumed_clients", "seed", "version"}) {
        if (json.contains(field)) metadata[field] = json[field];
    }
    // Errors and norms are each client's own, computed from its records as they are: where only sums are seen, or only
    // noise, they must not travel with the features.
    if (!report.budget && !(report.shield && report.shield->secure)) {
        for (const char* field : {"rse", "rse_original", "rse_per_client", "gain", "rel_error_bound", "missing"}) {
            if (json.contains(field)) metadata[field] = json[field];
        }
        if (!report.personal_norm2.empty()) metadata["personal_norm2"] = report.personal_norm2;
    }
    const Job& job = report.result.job;
    metadata["refit"] = job.refit;
    if (report.scale_clients) metadata["scale_clients"] = true;
    if (report.budget || (report.shield && report.shield->clip)) metadata["clipped"] = true;
    if (report.method == "ctt" && !job.eps && !has_budget(job)) {
        metadata["eps1"] = job.eps1;
        metadata["eps2"] = job.eps2;
    }
    // A file's name need not be text, and what is written must be.
    return nlohmann::json::parse(metadata.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
}

/// Goes on from a saved merge: its errors and rank are taken over where the user gives none.
void take_up(const Command& app, SimulateArguments& options, SimulationOptions& how) {
    const std::string& path = options.flags.resume;
    if (path.empty()) return;
    SavedMerge merge = load_state(path);
    require_resumable(merge, how.scale_clients, path);
    std::vector<std::string> merged;
    for (const Contribution& contribution : merge.contributions) merged.push_back(contribution.client);
    require_same_parts(how.names, merged, path);
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
    if (!report.result.own_features.empty()) {
        session.note(
            "note: the nodes did not come to agree, and each has features of its own: features.npz is the first "
            "node's, features_<k>.npz that of node k");
    }
    const auto& moved = report.result.reordered;
    for (std::size_t k = 0; k < moved.size(); ++k) {
        if (moved[k].empty()) continue;
        session.note(fmt::format("note: {}: {}", report.federation.name(static_cast<Index>(k)), moved[k]));
    }
}

/// With held-out patients it can be said what joining is worth: every client alone against all together.
void measure_joining(const SimulateArguments& options, SimulationReport& report) {
    const bool asked = options.flags.heldout > 0 && options.method == "ctt" && options.missing == "refuse";
    if (!asked || !report.result.features || report.federation.clients() < 2) return;
    JobOptions job = options.flags.job;
    // A budget or a default has become a rank by now.
    if (!job.rank && !job.eps) job.rank = report.result.ranks.front();
    report.gains = measure_gain(*report.federation.source, job, options.flags.preparation(), report.result.schema,
                                *report.result.features, report.centring);
}

/// Ranks that --rank auto tries: about two in every octave.
std::vector<Index> rank_grid(Index most) {
    std::vector<Index> grid;
    for (double rank = 1; static_cast<Index>(rank) <= most && rank <= 200; rank = std::max(rank + 1, 1.5 * rank)) {
        grid.push_back(static_cast<Index>(rank));
    }
    return grid;
}

/// Chooses R1 and eps2 by the error on patients that every client holds out by itself: only sums of squares would
/// travel. More components never fit worse, noise included: R of P directions take R/P of it. What counts is therefore
/// the error of an entry that the fit has not seen, rse_heldout / (1 - R1/P)^2 (generalised cross-validation: Golub,
/// Heath and Wahba 1979). Climbs until three larger ranks in a row bring nothing, and takes the largest eps2 that costs
/// no more than 0.1%.
void choose_rank(const Federation& federation, const SimulationOptions& how, SimulateArguments& options,
                 SimulationReport& report) {
    JobOptions& job = options.flags.job;
    const double heldout = options.flags.heldout > 0 ? options.flags.heldout : 0.2;
    Index most = 0;
    for (const Index rows : federation.rows) most += training_rows(rows, heldout);
    Index held = 0;
    for (const Index rows : federation.rows) held += rows - training_rows(rows, heldout);
    if (held == 0) {
        throw InputError({"--rank", fmt::format("auto with {} of the patients held out, which is nobody", heldout),
                          "at least one held-out patient", "Give a rank, or hold out more with --heldout."});
    }
    most = std::max<Index>(1, std::min(most, federation.features.size() - 1));
    if (federation.features.size() == 1) {
        job.rank = 1;  // there is no other, and no entry that a fit has not seen
        return;
    }
    const auto try_one = [&](Index rank, double eps2) {
        SimulationOptions trial{.job = job,
                                .scale_clients = how.scale_clients,
                                .heldout = heldout,
                                .schema = how.schema,
                                .progress = how.progress};
        trial.job.rank = rank;
        trial.job.eps2 = eps2;
        const SimulationResult result = simulate(*federation.source, std::move(trial));
        const double left = 1 - static_cast<double>(rank) / static_cast<double>(federation.features.size());
        report.trials.push_back({rank, eps2, *result.rse_heldout, *result.rse_heldout / (left * left)});
        return report.trials.back().score;
    };
    const double usual = job.eps2.value_or(0.01);
    double least = std::numeric_limits<double>::infinity();
    int idle = 0;
    for (const Index rank : rank_grid(most)) {
        const double error = try_one(rank, usual);
        const bool better = error < 0.999 * least;
        idle = better ? 0 : idle + 1;
        if (better) {
            job.rank = rank;
            least = error;
        }
        if (idle == 3) break;
    }
    double best = usual;
    for (const double eps2 : {0.05, 0.1, 0.2, 0.3, 0.4, 0.5}) {
        if (job.eps2) break;  // the user has said it
        const double error = try_one(*job.rank, eps2);
        if (error > 1.001 * least) break;
        least = std::min(least, error);
        best = eps2;
    }
    job.eps2 = best;
}

/// Who shortens records does not think of another merge, which has no certificate and sends other things. (--secure is
/// about sums by its name.)
void tell_of_sums(const PrivacyFlags& privacy, const Session& session) {
    if (privacy.secure) return;
    session.note(fmt::format("{} implies --aggregate subspace: clients send sums, and there is no certified error",
                             privacy.epsilon ? "--dp-epsilon"
                             : privacy.mu    ? "--mu"
                                             : "--clip"));
}

/// Nobody shall first learn on deployment what masks and noise cost on these data: a plain job says it.
void look_out(const SimulateArguments& options, const SimulationOptions& job, SimulationReport& report) {
    if (options.method != "ctt" || options.privacy.any() || options.privacy.plain || options.dry_run) return;
    if (options.missing == "impute" || !options.flags.resume.empty() || report.result.ranks.empty()) return;
    Index rows = 0;
    for (const Index own : report.federation.rows) rows += own;
    report.masked = masked_outlook(*report.federation.source, job, report.result.ranks.front(),
                                   checked_product(rows, report.federation.features.size()));
}

/// With a budget nothing of the data is looked at in a dry run but its shape: the errors are those of made-up patients.
void foresee(const SimulateArguments& options, SimulationReport& report) {
    const Job job = resolve_job(options.flags.job);
    if (!job.rank) throw InputError({"--rank", "missing", "a rank: noised sums have no certified error", ""});
    Index rows = 0;
    for (const Index own : report.federation.rows) rows += own;
    const Index sites = report.federation.clients();
    const BudgetOptions budget = *budget_options(options.privacy);
    const SumDemands demands{budget.min_cohort, budget.colluders};
    const Index stay = job.network == Network::star ? demands.least_threshold(static_cast<int>(sites)) : sites;
    const bool shared = budget.place == NoisePlace::distributed;
    report.expected = std::make_shared<const std::vector<ExpectedError>>(expected_errors(
        rows, report.federation.features, *job.rank, sites, shared ? std::max<Index>(1, stay - budget.colluders) : 1));
    report.result.job = job;
    report.result.ranks = {*job.rank};
}

SimulationReport run(const Command& app, SimulateArguments& options, const Session& session) {
    options.flags.job.seed = session.seed();
    if (options.privacy.any() && !options.flags.job.aggregate) {
        options.flags.job.aggregate = Aggregate::subspace;
        tell_of_sums(options.privacy, session);
    }
    options.input.missing = options.missing == "impute";
    options.input.missing_remedy =
        "Let --missing impute with --rank R fill them (method ctt), or replace or remove missing values first.";
    take_weight(options.weight, options.centring);
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
                            .loss = options.baseline.options.loss,
                            .scale_clients = options.flags.preparation().scale_clients};
    const Federation& federation = report.federation;
    if (options.dry_run && options.privacy.any()) {
        foresee(options, report);
        return report;
    }
    std::vector<std::string> prints;  // of the data as it came, before it is moved and scaled
    for (Index k = 0; !options.output.empty() && k < federation.clients(); ++k)
        prints.push_back(federation.print_of(k));
    how.names = federation.identities;
    take_up(app, options, how);
    if (options.method == "ctt") refuse_idle_errors(app, job_to_be(options), federation.features);
    take_tuning(federation, options);
    report.tuned = options.baseline.tuned;
    std::shared_ptr<const SumTraffic> masked;
    const JobOptions asked = options.flags.job;
    choose_weight(options.weight, weight_obstacle(options), federation, session, options.centring);
    CentringPlan plan{options.centring, options.privacy.secure, options.missing == "impute"};
    warn_of_unit(plan, federation, session);
    std::optional<AlignedSource> original;
    if (plan.options.any()) {
        pay_for_centring(plan, options.flags.job, federation);
        how.job.bytes = options.flags.job.bytes;
        how.job.bytes_total = options.flags.job.bytes_total;
        original = centre_federation(plan, how, report.federation, report.centring, masked);
    }
    if (options.rank_auto) {
        choose_rank(federation, how, options, report);
        how.job = options.flags.job;
    }
    warn_of_caps(federation, options, session);
    std::optional<ResultFolder> folder;
    if (!options.output.empty()) folder.emplace(options.output, session.force(), options.input.files);
    std::vector<Matrix<double>> personal_cores(original ? static_cast<std::size_t>(federation.clients()) : 0);
    if (folder || options.on_personal || original) {
        how.on_personal = [&](Index k, const Matrix<double>& personal) {
            const auto at = static_cast<std::size_t>(k);
            if (original) personal_cores[at] = Matrix<double>::copy(personal.view());
            report.personal_norm2.resize(std::max(report.personal_norm2.size(), at + 1));
            report.personal_norm2[at] = squared_norm<double>(personal.view());
            if (options.on_personal) options.on_personal(k, personal);
            if (!folder) return;
            const bool labelled = !federation.personal_labels.empty();
            nlohmann::json metadata{{"client", k + 1}, {"version", version()}};
            if (!prints[at].empty()) metadata["data"] = prints[at];
            folder->add_personal(k, personal, labelled ? federation.personal_labels[at] : ModeLabels{}, metadata);
        };
    }
    const SimulationOptions told{
        .job = how.job, .scale_clients = how.scale_clients, .heldout = how.heldout, .schema = how.schema};
    MethodResult done = compute(options, std::move(how), session, report);
    report.result = std::move(done.simulation);
    report.result.job.bytes = asked.bytes;
    report.result.job.bytes_total = asked.bytes_total;
    if (!report.centring.empty()) count_centring(plan, masked, report);
    if (original) report.rse_original = original_rse(report, options.flags, *original, personal_cores);
    measure_joining(options, report);
    look_out(options, told, report);
    tell_order(report, session);
    if (const auto lower = lower_rank_note(report.result.job, report.result.ranks);
        options.method == "ctt" && !lower.empty()) {
        session.note(lower);
    }
    warn_of_known_data(report.result, session);
    if (report.result.missing) {
        report.unknown = find_unknown(*federation.source, asked.unnamed, given_schema(options.flags));
        const std::string unknown = unknown_text(report.unknown);
        if (!unknown.empty()) session.note("warning: --missing impute: " + unknown);
    }
    report.tuning = done.tuning;
    report.trace = std::move(done.trace);
    report.stopped = done.stopped;
    report.privacy = done.privacy;
    if (report.result.state) save_state(options.flags.save_state, *report.result.state, session.force());
    if (folder) {
        folder->finish(*report.result.features, report.result.schema.modes, features_metadata(report),
                       report.result.own_features);
    }
    return report;
}

void execute_simulate(const Command& app, SimulateArguments& options, const Session& session) {
    const SimulationReport report = run(app, options, session);
    session.print(simulation_json(report), simulation_text(report));
    require_settled(report.result.missing);
}

void add_method_options(Command& app, const std::shared_ptr<SimulateArguments>& options) {
    JobOptions& job = options->flags.job;
    add_choice(app, "--method", simulation_methods(), options->method,
               "ctt: the federation; centralized: all rows in one place, what it is measured against; local: every "
               "client alone with features of its own; fedsvd: masked rows in one place; the others train a CP model "
               "of rank --rank in rounds, dpsgd and cidertf among peers");
    add_word(app, "--network", {"star", "decentralized"}, "star",
             "A coordinator in the middle, or clients that talk to neighbours",
             [&job](const auto& text) { job.network = parse_network(text); });
}

void add_network_options(Command& app, const std::shared_ptr<SimulateArguments>& options) {
    JobOptions& job = options->flags.job;
    add_text(app, "--graph", "GRAPH", "complete",
             "decentralized: who talks to whom. complete, ring, star, path, grid, random:S (density S), paper8, or "
             "file:PATH with two node numbers a line",
             [&job](const auto& text) { job.graph = text; });
    add_consensus_flags(app, options->flags);
}

/// In place of the job's own: here a rank can be tried out.
void add_rank_option(Command& app, const std::shared_ptr<SimulateArguments>& options) {
    app.remove_option("--rank");
    add_text(
        app, "--rank", "R", "chosen by --eps",
        "Rank R1 between patients and features, at most; the CP rank of the methods that have one. auto: tries ranks "
        "and "
        "eps2 on patients that every client holds out (a fifth, or --heldout), up to where more brings less than 0.1%",
        [options](const auto& text) {
            options->rank_auto = text == "auto";
            if (options->rank_auto) return;
            options->flags.job.rank =
                parse_count({"--rank", "R", 1, std::numeric_limits<Index>::max(), "Or auto."}, text);
        });
}

void add_options(Command& app, const std::shared_ptr<SimulateArguments>& options) {
    add_federation_input(app, options->input);
    add_method_options(app, options);
    add_job_flags(app, options->flags);
    add_rank_option(app, options);
    add_network_options(app, options);
    add_schema_flags(app, options->flags);
    add_budget_flags(app, options->privacy);
    add_choice(app, "--missing", {"refuse", "impute"}, options->missing,
               "NaN: an error, or an entry that nobody knows. impute: every client fills its own with its model, and "
               "the federation is run again until they settle (relative change 1e-5; exit status 1 when 200 times are "
               "not enough); needs --rank");
    add_data_flags(app, options->flags);
    add_centring_flags(app, options->centring);
    add_weight_flag(app, options->weight);
    app.add_flag("--dry-run", options->dry_run, "Only say what would be sent: ranks, numbers and bytes");
    app.add_option("-o,--output", options->output, "Folder for features.npz and personal_<k>.npz; made if not there")
        .type("DIR");
    add_training_options(app, options->baseline.options);
    add_tuning_options(app, options->baseline.options.tuning);
    add_cache_options(app, options->baseline);
}

Action set_up_simulate(Command& app) {
    auto options = std::make_shared<SimulateArguments>();
    add_options(app, options);
    return [options, &app](Session& session) { execute_simulate(app, *options, session); };
}

}  // namespace

std::vector<EmbeddedFlag> simulation_flags() {
    Command app("simulate");
    Globals globals;
    add_globals(app, globals);
    add_options(app, std::make_shared<SimulateArguments>());
    std::vector<EmbeddedFlag> flags;
    for (const CommandOption& option : app.options()) {
        for (const std::string& name : option.long_names()) {
            flags.push_back({.name = name, .takes_value = option.takes_value()});
        }
    }
    return flags;
}

EmbeddedResult run_simulation(EmbeddedCall call) {
    auto options = std::make_shared<SimulateArguments>();
    options->input.tensors = std::move(call.clients);
    options->input.names = std::move(call.names);
    EmbeddedResult result;
    options->on_personal = [&](Index, const Matrix<double>& personal) {
        result.personal.push_back(Matrix<double>::copy(personal.view()));
    };
    const auto add = [&](Command& app) { add_options(app, options); };
    run_embedded("simulate", call, add, [&](const Command& app, const Session& session) {
        SimulationReport report = run(app, *options, session);
        result.json = simulation_json(report);
        result.metadata = features_metadata(report);
        result.features = std::move(report.result.features);
        result.feature_labels = std::move(report.result.schema.modes);
    });
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
        "Clients come from files, from one file with --split, or from --synthetic. Give --rank for features of at most "
        "that "
        "rank, --eps for a certified error, or --bytes for what the messages may take.",
    .output =
        "RSE: squared error over squared norm, of all clients together; its root is the relative error. rank sent: of "
        "what the client sends; its personal core has R_1 columns. feature ranks: R_1 ... R_N of the shared cores, "
        "without the R_0 = 1 of decompose. sent: numbers in cores and sums, messages as bytes.\n"
        "--json: rse, rse_original (with --centre, --scale or --weight: in the units that the data came in), weight, "
        "rse_heldout (with --heldout), rse_per_client, rel_error_bound (of sqrt(rse); stack), ranks, "
        "personal_ranks, rounds, numbers_up_per_client and numbers_down_per_client (means; decentralized: per node and "
        "link, all counted up), numbers_total, bytes_up, bytes_down, bytes_total (all clients), bytes_raw (the data in "
        "64-bit numbers), seconds {clients_max, clients_sum, "
        "server, total}, consensus {lambda2, iterations, error} (decentralized), gain [{client, alone, together}] "
        "(with --heldout: errors on new patients of a client by itself and with the federation, in the same "
        "units; null where a client holds out nobody), tried "
        "[{rank, eps2, rse_heldout, score}] (--rank auto: the rank after which no larger one betters the score by "
        "0.1%, then the largest eps2 that costs no more), missing {fraction, "
        "iterations, change, settled, means_weight, validation, rse_validation, rse_means, unknown_features "
        "(known of nobody at any client), unknown_clients (their numbers: those that know not one entry)} (with "
        "--missing impute; rse then counts the known entries), method, network, aggregate "
        "(ctt), "
        "clients, "
        "resumed_clients, dry_run, seed, version, output, state. With --dry-run nothing is fitted: no rse. With "
        "--method local ranks are the largest over the clients; with centralized and "
        "fedsvd the data itself is counted as sent. CP methods add loss, tuning, tuned, stopped (converged or rounds), "
        "trace (round, rse as trained, numbers, bytes, seconds) and, with --gradient-noise, gradient_noise "
        "{nominal_epsilon, delta, releases, guarantee: false, why}.\n"
        "--secure, --mu and --dp-epsilon add privacy {secure, policy, mu, epsilon, delta, against, noise, threshold "
        "(clients that must stay to the end of a sum), clip, patients (a noised count), split (parts of mu^2 by sum), "
        "sigma (of the noise in every number, by sum), sums, columns (of the core; 0: modes alone), rank_worth "
        "(directions that stand out of the noise), error {rse, low, high} (of clipped records, from noised sums: 95%), "
        "not_covered (fields of this report that have no noise: do not publish them)}. Noise is drawn anew in every "
        "run, whatever --seed says. features.npz has no errors then, and bytes_raw, which counts patients, is left "
        "out. --secure --policy off and --clip alone add privacy {secure, policy, sums, directions, ring_bits, "
        "threshold, clip, clipped}. A plain job adds masked {mu, rse, bytes_total, rounds}: what --secure gives on "
        "these data, with noise that follows from the seed; nothing where that is not possible or would take long. "
        "With --dry-run a budget adds expected [{mu, rse}]: errors on new patients, measured on made-up sparse records "
        "of as many patients and labels.\n"
        "-o: features.npz holds core_2 ... core_N, personal_<k>.npz core_1 of client k; their product is the client's "
        "tensor.\n"
        "--missing impute: up to 5% of the known entries of every client are kept from the features (validation: how "
        "many); rse_validation is the error on them, rse_means that of each feature's mean at the client. A hidden "
        "entry lies between the model and that mean; means_weight, from 0 to 1, is what predicts the kept entries "
        "best. Without settling (settled: false) the result is written and marked, and the exit status is 1. "
        "Zeros stand for features that nobody knows and for clients that know nothing, with a warning; a federation "
        "without one known entry is refused.",
    .examples =
        "couplet simulate a.npy b.npy c.npy --rank 20\n"
        "couplet simulate --split 4 X.npy --eps 0.05 -o result\n"
        "couplet simulate a.npy b.npy c.npy --rank auto --centre --heldout 0.2 -o result\n"
        "couplet simulate --split 4 X.npy --bytes 100kB\n"
        "couplet simulate --synthetic 200x30x30 --clients 4 --rank 20\n"
        "couplet simulate --synthetic 200x30x30 --rank 20 --method centralized\n"
        "couplet simulate --synthetic 200x30x30 --rank 20 --method trip --rounds 20\n"
        "couplet simulate a.npy b.npy c.npy --network decentralized --rank 20\n"
        "couplet simulate a.npy b.npy c.npy --rank 20 --secure\n"
        "couplet simulate a.npy b.npy c.npy --rank 10 --secure --dp-epsilon 1 --clip 4\n"
        "couplet simulate a.npy b.npy c.npy --rank 20 --missing impute\n"
        "couplet simulate a.npy b.npy --rank 20 --save-state state.npz\n"
        "couplet simulate c.npy --rank 20 --resume state.npz -o result",
    .common = "split synthetic rank eps bytes network secure dp-epsilon centre scale missing heldout dry-run output",
    .setup = set_up_simulate};

}  // namespace couplet::cli
