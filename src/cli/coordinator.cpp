#include "couplet/net/coordinator.hpp"
#include "command.hpp"

#include <fmt/format.h>

#include <memory>
#include <utility>

#include "couplet/core/error.hpp"
#include "couplet/sim/centring_file.hpp"
#include "couplet/sim/state_file.hpp"
#include "duration.hpp"
#include "job_options.hpp"
#include "missing_report.hpp"
#include "network_report.hpp"
#include "privacy_options.hpp"
#include "result_folder.hpp"
#include "signals.hpp"
#include "star_options.hpp"
#include "verb.hpp"
#include "weight_option.hpp"

namespace couplet::cli {
namespace {

struct CoordinatorArguments {
    std::string kit;
    JobFlags flags;
    std::optional<Index> min_clients;
    Duration deadline = std::chrono::seconds(60);
    std::string late = "refuse";
    std::string missing = "refuse";
    PrivacyFlags privacy;
    CentringOptions centring;
    std::string weight = "none";
    bool insecure = false;
    std::string output;
};

/// Sums over the members' features: everybody must be there when they are made.
void check_centring(const Command& app, const CoordinatorArguments& options) {
    if (!options.centring.any()) return;
    const bool weighted = options.centring.weight != Weight::none;
    const char* given = weighted ? "--weight" : options.centring.centre ? "--centre" : "--scale";
    if (weighted && (options.centring.centre || options.centring.scale)) {
        throw InputError({"--weight", "given with --centre or --scale", "one or the other",
                          "A weight takes the prevalences out and brings the labels to one scale."});
    }
    refuse_given(app, {"--save-state", "--resume"}, given, "one or the other");
    if (options.missing == "impute") {
        throw InputError({given, "given with --missing impute", "one or the other", "Leave one of them out."});
    }
    if (options.late == "merge") {
        throw InputError({"--late", fmt::format("merge with {}", given), "one or the other",
                          "The means are those of clients who are there from the beginning."});
    }
}

/// Which data the clients have is known when they are there: too late to refuse the job for it.
void warn_of_idle_errors(const Command& app, const net::CoordinatorResult& result, const Session& session) {
    try {
        refuse_idle_errors(app, result.spec.job, result.schema.features);
    } catch (const InputError& error) {
        session.note(fmt::format("warning: {} had no effect: the data are patients by features, and nothing is cut",
                                 error.parts().where));
    }
}

void execute_coordinator(const Command& app, CoordinatorArguments& options, const Session& session) {
    options.flags.job.seed = session.seed();
    const auto shield = star_shield(app, options.flags.job, options.privacy);
    warn_of_masking(options.privacy, session);
    if (shield && shield->guarantee) {
        constexpr std::int64_t usual_patients = 1000;
        const std::string weak = weakness(*shield->guarantee, usual_patients);
        if (!weak.empty()) session.note("warning: " + weak);
    }
    std::optional<SavedMerge> resume;
    if (!options.flags.resume.empty()) {
        resume = load_state(options.flags.resume);
        require_resumable(*resume, options.flags.preparation().scale_clients, options.flags.resume);
        take_errors(app, *resume, options.flags.job);
        refuse_given(app, {"--schema"}, "--resume", "no schema: a saved merge has its own");
    }
    const Job job =
        star_job(app, options.flags, {.late = options.late == "merge", .missing = options.missing == "impute"});
    take_weight(options.weight, options.centring);
    check_centring(app, options);
    const net::Kit kit = net::load_kit(options.kit);
    if (kit.identity.role != net::Role::coordinator) {
        throw InputError({options.kit, fmt::format("the kit of a {}", net::to_string(kit.identity.role)),
                          "that of a coordinator", ""});
    }
    session.claim_output(options.flags.save_state, {});
    const std::string folder = options.output.empty() ? options.kit : options.output;
    const JobOutput output(folder, {"features.npz"}, session.force());
    clean_on_interrupt(kit.file("job"));
    net::Log log(
        kit.file("log.jsonl"), [&session](std::string_view line) { session.note(line); }, session.spelling());
    net::CoordinatorOptions how{.spec = {job, options.flags.preparation()},
                                .min_clients = options.min_clients,
                                .deadline = options.deadline,
                                .late_merge = options.late == "merge",
                                .insecure = options.insecure,
                                .schema = given_schema(options.flags),
                                .resume = std::move(resume)};
    if (options.missing == "impute") how.spec.missing.emplace();
    how.spec.shield = shield;
    how.spec.centring = options.centring;
    if (how.schema) refuse_idle_errors(app, job, how.schema->features);
    how.on_job = [&](const std::string& id) { output.require_free(id); };
    how.on_features = [&](const net::CoordinatorOptions::Delivery& done) {
        const FeaturesMessage& message = done.features;
        nlohmann::json metadata{{"job", done.job}, {"seed", job.seed}, {"version", version()}};
        if (message.rel_error_bound) metadata["rel_error_bound"] = *message.rel_error_bound;
        if (message.filling) metadata["settled"] = message.filling->settled;
        if (!done.centring.empty()) metadata["centring"] = centring_json(done.centring);
        save_features(output.file("features.npz"), message.features, done.schema.modes, std::move(metadata), true);
    };
    if (!options.flags.save_state.empty()) {
        how.on_state = [&](const SavedMerge& merge) { save_state(options.flags.save_state, merge, true); };
    }
    net::Coordinator coordinator(kit, std::move(how), log);
    const StopOnSignal guard([&coordinator] { coordinator.stop(); });
    const net::CoordinatorResult result = coordinator.run();
    session.print(coordinator_json(result, folder), coordinator_text(result, folder));
    warn_of_idle_errors(app, result, session);
    if (const auto lower = lower_rank_note(result.spec.job, result.ranks); !lower.empty()) session.note(lower);
    require_settled(result.imputed);
}

Action set_up_coordinator(Command& app) {
    auto options = std::make_shared<CoordinatorArguments>();
    app.add_option("--kit", options->kit, "Folder that couplet provision made for the coordinator")
        .type("DIR")
        .required();
    add_job_flags(app, options->flags);
    add_data_flags(app, options->flags);
    add_schema_flags(app, options->flags);
    add_text(app, "--min-clients", "N", "everybody on the roster; with --secure as many as its masks need",
             "Clients without whom the job fails", [options](const std::string& text) {
                 options->min_clients =
                     parse_count({"--min-clients", "N", 1, 1'000'000, "It is a number of clients."}, text);
             });
    add_deadline(
        app, "60s", options->deadline,
        "How long to wait, each time, for clients: 60s, 10m, 2h, none. Then the job goes on with those who are "
        "there, or fails when they are too few");
    add_choice(app, "--late", {"refuse", "merge"}, options->late,
               "Clients that come after the deadline; merge: one merge each when the job is done, also in a later run "
               "with the same kit (stack)");
    add_choice(
        app, "--missing", {"refuse", "impute"}, options->missing,
        "NaN in the data of clients: an error, or an entry that nobody knows. impute: every client fills its own "
        "with its model, and the job is run again until they settle, as simulate --missing impute does it; needs "
        "--rank");
    add_privacy_flags(app, options->privacy);
    add_mu_flag(app, options->privacy);
    add_centring_flags(app, options->centring);
    add_choice(app, "--weight", {"none", "sqrt", "pearson"}, options->weight,
               "Form features from what deviates from the labels' prevalences over the whole federation, as simulate "
               "does by itself; the sites' tables need a label (any) in every mode");
    app.add_flag("--insecure", options->insecure, "No TLS; only on this machine, for trying things out");
    app.add_option("-o,--output", options->output, "Folder for features.npz (default: the kit)").type("DIR");
    return [options, &app](Session& session) { execute_coordinator(app, *options, session); };
}

}  // namespace

extern const Verb coordinator_verb{
    .name = "coordinator",
    .group = network_group,
    .summary = "run a job for the clients of a kit",
    .description =
        "Waits for the clients on the kit's roster, merges what they send and gives everybody the shared features; "
        "ends "
        "when all have them. Both sides prove who they are with the certificates of their kits (mutual TLS). The "
        "result "
        "is that of couplet simulate with the same flags, seed and order of clients, bit for bit.\n\n"
        "What clients send is kept in the folder job of the kit until it is merged: killed at any moment and started "
        "again with the same flags, the job continues. A client that is lost on the way is left out when enough others "
        "remain (--min-clients). While it runs, couplet status and a page on this machine show how it stands.\n\n"
        "With --secure the coordinator sees sums over all clients: not one client's numbers, nor how many patients it "
        "has, nor how well the features fit them. Masks hide who contributed what, not the records: from exact sums "
        "most sparse records can be rebuilt, and only noise (--mu or --dp-epsilon) protects them. Clients that are "
        "lost in the "
        "first sum over the data are "
        "left out, as long as more than half of them (and of one that may collude) stay; after that sum everybody in "
        "it "
        "is needed, because a sum without one would show what that one contributed: when it does not come back, the "
        "features are those of the sums so far.",
    .output =
        "A line per client with its rank and RSE, who is in the result, and what was sent.\n"
        "--json: the fields of couplet simulate --json that a coordinator knows, and job, members, late, missing "
        "(names), "
        "output. No rse when a client did not report its own. With clients merged late every error is one of the "
        "features that its client got: there is no rse of all, and rse_late_merges says how many late merges are in "
        "the "
        "features of each of rse_per_client. Bytes and numbers are of "
        "questions, answers and features, each message once, in the attempt that gave the result; with --secure bytes "
        "are "
        "of all that passed. bytes_overhead: of the rest (greetings with the names of columns, schema, reports). Both "
        "ends and audit.jsonl come to the same; gRPC and TLS are not counted.\n"
        "privacy: with --secure, the object of couplet simulate --json; rse, rse_per_client and expected_loss are then "
        "known to nobody but the clients.\n"
        "imputed: with --missing impute, the object missing of couplet simulate --json, but for unknown_features "
        "and unknown_clients, which nobody sees here; without settling the result is "
        "delivered and the exit status is 1.\n"
        "doubts [{client, reason}]: instead of rel_error_bound, when a client's norm is far from the others' or errors "
        "that "
        "clients report are above the bound.\n"
        "-o: features.npz. Also in the kit: log.jsonl, audit.jsonl with who took part and what was sent and received, "
        "and "
        "job with what a restart needs.",
    .examples =
        "couplet coordinator --kit coordinator --rank 20\n"
        "couplet coordinator --kit coordinator --eps 0.1 --min-clients 3 --deadline 10m\n"
        "couplet coordinator --kit coordinator --rank 20 --late merge\n"
        "couplet coordinator --kit coordinator --rank 20 --missing impute\n"
        "couplet coordinator --kit coordinator --rank 10 --secure\n"
        "couplet coordinator --kit coordinator --rank 20 --centre --scale",
    .common = "kit rank eps bytes secure dp-epsilon centre scale missing min-clients deadline output",
    .setup = set_up_coordinator};

}  // namespace couplet::cli
