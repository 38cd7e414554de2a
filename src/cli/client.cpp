#include "couplet/net/client.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <functional>
#include <iostream>
#include <memory>
#include <optional>
#include <utility>

#include "couplet/core/error.hpp"
#include "couplet/net/consent.hpp"
#include "duration.hpp"
#include "federation.hpp"
#include "network_report.hpp"
#include "result_folder.hpp"
#include "signals.hpp"
#include "terminal.hpp"
#include "verb.hpp"

namespace couplet::cli {
namespace {

struct Options {
    std::string kit;
    std::string data;
    Duration deadline = std::chrono::minutes(10);
    bool insecure = false;
    std::string output;
    std::string policy;
    bool ask = false;
};

/// "on" and "off", or a file; without the flag the kit's own, or the defaults where it has none.
std::optional<net::SitePolicy> site_policy(const Options& options, const net::Kit& kit) {
    if (options.policy == "off") return std::nullopt;
    if (options.policy == "on") return net::SitePolicy{};
    if (!options.policy.empty()) return net::load_policy(options.policy);
    const auto own = kit.file("policy.toml");
    return std::filesystem::exists(own) ? net::load_policy(own) : net::SitePolicy{};
}

/// Waits for a yes; anything else is a no.
void ask_user(const std::string& job, const Session& session) {
    if (::isatty(STDIN_FILENO) == 0 || !stderr_is_terminal()) {
        throw InputError({"--ask", "no terminal to ask on", "somebody who can answer", "Let --policy decide instead."});
    }
    session.note(job + "; take part? (yes or no)");
    std::string answer;
    if (std::getline(std::cin, answer) && (answer == "yes" || answer == "y")) return;
    throw InputError({"--ask", answer.empty() ? "no answer" : "'" + answer + "'", "yes, to take part", ""});
}

/// Shows the job, holds it against the policy, asks where that was wished for.
std::function<void(const wire::Message&)> make_vet(const Options& options, const net::Kit& kit, const Tensor<double>& x,
                                                   net::Log& log, const Session& session) {
    const auto policy = site_policy(options, kit);
    if (!policy) log.warn("policy", "no policy: whatever the coordinator asks is answered");
    std::shared_ptr<net::Consent> consent;
    const auto sizes = x.shape().sizes();
    if (policy) {
        consent = std::make_shared<net::Consent>(*policy, sizes[0],
                                                 Shape(std::vector<Index>(sizes.begin() + 1, sizes.end())));
    }
    return [consent, &log, &session, ask = options.ask](const wire::Message& message) {
        const auto* welcome = std::get_if<wire::Welcome>(&message.body);
        const std::string job = welcome == nullptr ? "" : "the job: " + net::job_text(*welcome);
        if (welcome != nullptr) log.info("job", job);
        if (consent) consent->vet(message);
        if (welcome == nullptr) return;
        if (ask) ask_user(job, session);
        log.info("agreed", fmt::format("agreed to {}", net::job_text(*welcome)));
    };
}

void keep(const net::ClientResult& result, const JobOutput& output, const Federation& federation) {
    const nlohmann::json metadata{{"job", result.job}, {"version", version()}};
    save_personal(output.file("personal.npz"), result.personal, federation.personal_labels.front(), metadata, true);
    nlohmann::json shared = metadata;
    shared["seed"] = result.spec.job.seed;
    if (result.settled) shared["settled"] = *result.settled;
    if (result.rel_error_bound) shared["rel_error_bound"] = *result.rel_error_bound;
    save_features(output.file("features.npz"), result.features, result.schema.modes, std::move(shared), true);
}

void execute(const Options& options, const Session& session) {
    const net::Kit kit = net::load_kit(options.kit);
    // The job says whether NaN is a missing entry.
    const Federation federation = open_federation({.files = {options.data}, .missing = true}, session);
    const std::string folder = options.output.empty() ? options.kit : options.output;
    const JobOutput output(folder, {"features.npz", "personal.npz"}, session.force());
    net::Log log(kit.file("log.jsonl"), [&session](std::string_view line) { session.note(line); });
    net::ClientOptions how{.deadline = options.deadline,
                           .insecure = options.insecure,
                           .on_join = [&](const std::string& job) { output.require_free(job); },
                           .vet = make_vet(options, kit, *federation.source->client(0), log, session),
                           .deliver = [&](const net::ClientResult& result) { keep(result, output, federation); }};
    net::Client client(kit, federation.source->client(0), std::move(how), log);
    const StopOnSignal guard([&client] { client.stop(); });
    try {
        const net::ClientResult result = client.run();
        session.print(client_json(result, folder), client_text(result, folder));
        if (!result.settled.value_or(true)) {
            throw RunError({"job", "what was filled in for missing entries had not come to rest", "a job that settles",
                            "The result is there; its figures may still move. Ask for a smaller rank."});
        }
    } catch (const InputError& error) {
        throw federation.named(error);
    }
}

Action setup(CLI::App& app) {
    auto options = std::make_shared<Options>();
    app.add_option("--kit", options->kit, "Folder that couplet provision made for this client")
        ->type_name("DIR")
        ->required();
    app.add_option("--data", options->data,
                   "This client's tensor: .npy, .csv, .csv.gz or .tns; it stays here. NaN or an empty cell is a "
                   "missing entry, if the "
                   "coordinator says --missing impute")
        ->type_name("FILE")
        ->required();
    add_deadline(app, "10m", options->deadline,
                 "How long to wait for anything that brings the job forward, whether the coordinator is out of reach, "
                 "fails or waits for others: 60s, 10m, 2h, none. Until then it is tried again");
    app.add_flag("--insecure", options->insecure, "No TLS; only with a coordinator on this machine");
    app.add_option(
           "--policy", options->policy,
           "What this site answers: a file, on (the defaults) or off. Without it policy.toml in the kit, or the "
           "defaults: at least 6 patients, a rank of at most half of them")
        ->type_name("FILE|on|off");
    app.add_flag("--ask", options->ask, "Show the job and wait for a yes before anything is computed");
    app.add_option("-o,--output", options->output, "Folder for features.npz and personal.npz (default: the kit)")
        ->type_name("DIR");
    return [options](Session& session) { execute(*options, session); };
}

}  // namespace

extern const Verb client_verb{
    .name = "client",
    .group = network_group,
    .summary = "take part in a coordinator's job with own data",
    .description =
        "Connects to the coordinator of the kit, sends the compressed features of its patients (or sums over all of "
        "them, "
        "as the job says) and fits its patients to the shared features it gets back. Data and personal core stay here. "
        "When the connection breaks or the coordinator restarts, it connects again and goes on.\n\n"
        "Every request is held against the site's policy before anything is computed for it: policy.toml with "
        "min_patients, max_rank_share, aggregates, max_heldout, max_sums, max_sum_width, min_others and missing. What "
        "is "
        "not allowed is refused, in words at both ends; the job that was agreed to is in the log.",
    .output =
        "Who is in the result, RSE of this client's patients, what was sent and received.\n"
        "--json: rse, rse_heldout, rel_error_bound (of all together), ranks, personal_ranks, numbers_up_per_client, "
        "numbers_down_per_client, bytes_up, bytes_down (its own), seconds {clients_max, total}, rounds, method, "
        "network, "
        "aggregate, seed, version, job, clients, members, missing, output.\n"
        "imputed {settled}: of a job with --missing impute, whose rse counts the known entries; without settling the "
        "result is written and the exit status is 1.\n"
        "doubts: instead of rel_error_bound when this client's own error contradicts it.\n"
        "-o: features.npz holds core_2 ... core_N, personal.npz (for its owner alone) core_1; their product is this "
        "client's tensor. Also in the kit: log.jsonl, and audit.jsonl with what was sent and received.",
    .examples =
        "couplet client --kit hospital-a --data a.npy\n"
        "couplet client --kit hospital-a --data a.npy -o result --deadline 2h\n"
        "couplet client --kit hospital-a --data a.npy --policy strict.toml --ask",
    .setup = setup};

}  // namespace couplet::cli
