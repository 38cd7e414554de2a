#include "couplet/net/client.hpp"
#include "command.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "audit_warning.hpp"
#include "couplet/core/error.hpp"
#include "couplet/io/data_print.hpp"
#include "couplet/net/consent.hpp"
#include "couplet/net/privacy_book.hpp"
#include "couplet/sim/centring_file.hpp"
#include "couplet/sim/complete.hpp"
#include "couplet/sim/gain.hpp"
#include "duration.hpp"
#include "federation.hpp"
#include "format.hpp"
#include "layout.hpp"
#include "network_report.hpp"
#include "result_folder.hpp"
#include "signals.hpp"
#include "site_policy.hpp"
#include "terminal.hpp"
#include "verb.hpp"

namespace couplet::cli {
namespace {

struct ClientArguments {
    std::string kit;
    std::string data;
    Duration deadline = std::chrono::minutes(10);
    bool account = false;
    bool insecure = false;
    std::string output;
    std::string policy;
    bool ask = false;
};

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

/// The site's side of a job: shows it, holds it against the policy, asks where that was wished for, and books what it
/// spends of the data's privacy.
class Site {
  public:
    Site(const ClientArguments& options, const net::Kit& kit, const Tensor<double>& x, net::Log& log,
         const Session& session)
        : policy_(site_policy(options.policy, kit)),
          consent_(make_consent(policy_ ? *policy_ : net::no_policy(), x)),
          book_(kit.file(account_file)),
          ledger_(kit.file(ledger_file)),
          x_(x),
          log_(log),
          session_(session),
          ask_(options.ask) {
        tell_policy(policy_, log);
        consent_.remember(ledger_, x_, &book_);
    }
    Site(const Site&) = delete;
    Site& operator=(const Site&) = delete;

    void vet(const wire::Message& message) {
        const auto* welcome = std::get_if<wire::Welcome>(&message.body);
        const std::string job = welcome == nullptr ? "" : "the job: " + net::job_text(*welcome);
        if (welcome != nullptr) log_.info("job", job);
        consent_.vet(message);
        if (welcome == nullptr) return;
        if (policy_) warn(welcome->spec);
        if (ask_) ask_user(job, session_);
        log_.info("agreed", fmt::format("agreed to {}", net::job_text(*welcome)));
    }
    void vet_plan(const ShieldPlan& plan, const std::string& job) {
        agree_to_plan(plan, job, {consent_, book_, ledger_, policy_, x_, log_});
    }
    void vet_sum(const MaskedSum& sum, const std::string& job) {
        agree_to_sum(sum, job, {consent_, book_, ledger_, policy_, x_, log_});
    }
    SumDemands demands() const { return policy_ ? consent_.demands() : SumDemands{}; }
    /// How long to wait, where the command line does not say.
    Duration patience(Duration otherwise) const {
        return policy_ && policy_->patience > 0 ? std::chrono::seconds(policy_->patience) : otherwise;
    }

  private:
    void warn(const wire::JobSpec& spec) {
        const std::string text = audit_warning(spec, x_, policy_->worst_verdict);
        if (!text.empty()) log_.warn("audit", text);
    }
    std::optional<net::SitePolicy> policy_;
    net::Consent consent_;
    net::PrivacyBook book_;
    net::DisclosureLedger ledger_;
    const Tensor<double>& x_;
    net::Log& log_;
    const Session& session_;
    bool ask_;
};

void keep(const net::ClientResult& result, const JobOutput& output, const Federation& federation) {
    const nlohmann::json metadata{{"job", result.job}, {"version", version()}};
    nlohmann::json own = metadata;
    own["features_print"] = features_print(result.features.train);
    if (federation.are_whole) own["data"] = federation.print_of(0);
    save_personal(output.file("personal.npz"), result.personal, federation.personal_labels.front(), own, true);
    nlohmann::json shared = metadata;
    shared["seed"] = result.spec.job.seed;
    if (result.settled) shared["settled"] = *result.settled;
    if (result.rel_error_bound) shared["rel_error_bound"] = *result.rel_error_bound;
    if (!result.centring.empty()) shared["centring"] = centring_json(result.centring);
    save_features(output.file("features.npz"), result.features, result.schema.modes, std::move(shared), true);
}

/// What jobs have spent of each data set, and of this one where it is given.
void print_account(const ClientArguments& options, const net::Kit& kit, const Session& session) {
    const net::PrivacyBook book(kit.file(account_file));
    const double delta = site_policy(options.policy, kit).value_or(net::SitePolicy{}).dp_delta;
    std::map<std::string, Index> jobs;
    for (const auto& entry : book.account().entries()) ++jobs[entry.data];
    std::string own;
    std::set<std::string> related;
    if (!options.data.empty()) {
        const Federation federation = open_federation({.files = {options.data}, .missing = true}, session);
        const net::Cohort patients = net::make_cohort(*federation.source->client(0), 0, 0, 0);
        own = patients.id;
        related = net::DisclosureLedger(kit.file(ledger_file)).related(patients);
        jobs.emplace(own, 0);
    }
    Json sets = Json::array();
    std::vector<std::vector<std::string>> lines{{"data", "jobs", "epsilon"}};
    for (const auto& [data, count] : jobs) {
        const double epsilon = book.spent_epsilon(data, delta, data == own ? related : std::set<std::string>{});
        sets.push_back({{"data", data}, {"jobs", count}, {"epsilon", epsilon}, {"given", data == own}});
        lines.push_back(
            {data.substr(0, 12) + (data == own ? " (this file)" : ""), count_text(count), number_text(epsilon)});
    }
    const std::string text = jobs.empty() ? "nothing was spent\n" : table(lines);
    session.print({{"delta", delta}, {"data", sets}}, fmt::format("{}at delta {}\n", text, number_text(delta)));
}

/// What this site gains by joining, on the patients that the job held out. Nobody is asked and nothing is sent.
std::optional<ClientGain> joining(const net::ClientResult& result) {
    if (!result.data.heldout || result.data.heldout->size() == 0) return std::nullopt;
    const Job& job = result.spec.job;
    JobOptions own{.rank = job.rank, .eps = job.eps, .seed = job.seed};
    if (!own.rank && !own.eps) own.rank = result.features.train.ranks().front();
    // The printed method's errors are no defaults of a site by itself.
    if (!job.eps && job.aggregate == Aggregate::stack) {
        own.eps1 = job.eps1;
        own.eps2 = job.eps2;
    }
    return gain_of(result.data, own, result.features, result.centring);
}

/// Of a job that fills missing entries: what this client knows of nobody. Whether others do it cannot say.
void tell_unknown(const net::ClientResult& result, const Federation& federation, const Session& session, Json& json) {
    if (!result.settled) return;
    const UnknownParts unknown = find_unknown(*federation.source, Unnamed::allow, {});
    json["imputed"]["unknown_features"] = unknown.features;
    if (unknown.features == 0) return;
    session.note(
        fmt::format("warning: {} of {} features are known of nobody here: what stands for them comes from the "
                    "other clients alone, and is zero where nobody knows them",
                    count_text(unknown.features), count_text(federation.features.size())));
}

void print(const net::ClientResult& result, const std::string& folder, const Federation& federation,
           const Session& session) {
    Json json = client_json(result, folder);
    std::string text = client_text(result, folder);
    tell_unknown(result, federation, session, json);
    if (const auto gain = joining(result)) {
        json["gain"] = {{"alone", gain->alone}, {"together", gain->together}};
        text = fields({{"joining", fmt::format("error on new patients {}, alone {}", number_text(gain->together),
                                               number_text(gain->alone))}}) +
               text;
    }
    session.print(json, text);
}

void execute_client(const Command& app, const ClientArguments& options, const Session& session) {
    const net::Kit kit = net::load_kit(options.kit);
    if (options.account) return print_account(options, kit, session);
    if (options.data.empty()) throw InputError({"--data", "missing", "this client's tensor", ""});
    // The job says whether NaN is a missing entry.
    const Federation federation = open_federation({.files = {options.data}, .missing = true}, session);
    const std::string folder = options.output.empty() ? options.kit : options.output;
    const JobOutput output(folder, {"features.npz", "personal.npz"}, session.force());
    net::Log log(
        kit.file("log.jsonl"), [&session](std::string_view line) { session.note(line); }, session.spelling());
    const auto x = federation.source->client(0);
    Site site(options, kit, *x, log, session);
    net::ClientOptions how{
        .deadline = app.count("--deadline") > 0 ? options.deadline : site.patience(options.deadline),
        .insecure = options.insecure,
        .on_join =
            [&](const std::string& job) {
                // The kit is where results go unless -o says otherwise: those of the job before stay, under its name.
                const std::string older = options.output.empty() ? output.put_aside(job) : "";
                if (!older.empty()) session.note("the results of the job before are in " + older);
                output.require_free(job);
            },
        .vet = [&](const wire::Message& message) { site.vet(message); },
        .demands = site.demands(),
        .vet_plan = [&](const ShieldPlan& plan, const std::string& job) { site.vet_plan(plan, job); },
        .vet_sum = [&](const MaskedSum& sum, const std::string& job) { site.vet_sum(sum, job); },
        .deliver = [&](const net::ClientResult& result) { keep(result, output, federation); }};
    net::Client client(kit, x, std::move(how), log);
    const StopOnSignal guard([&client] { client.stop(); });
    try {
        const net::ClientResult result = client.run();
        print(result, folder, federation, session);
        if (!result.settled.value_or(true)) {
            throw RunError({"job", "what was filled in for missing entries had not come to rest", "a job that settles",
                            "The result is there; its figures may still move. Ask for a smaller rank."});
        }
    } catch (const InputError& error) {
        throw federation.named(error);
    }
}

Action set_up_client(Command& app) {
    auto options = std::make_shared<ClientArguments>();
    app.add_option("--kit", options->kit, "Folder that couplet provision made for this client").type("DIR").required();
    app.add_option("--data", options->data,
                   "This client's tensor: .npy, .csv, .csv.gz or .tns; it stays here. NaN or an empty cell is a "
                   "missing entry, if the "
                   "coordinator says --missing impute")
        .type("FILE");
    add_deadline(app, "10m, or the policy's patience", options->deadline,
                 "How long to wait for anything that brings the job forward, whether the coordinator is out of reach, "
                 "fails or waits for others: 60s, 10m, 2h, none. Until then it is tried again");
    app.add_flag("--insecure", options->insecure, "No TLS; only with a coordinator on this machine");
    add_policy_flag(app, options->policy);
    app.add_flag(
        "--account", options->account,
        "Print what jobs have spent of the privacy of this client's data sets (of the one that --data names, and "
        "all others), and end");
    app.add_flag("--ask", options->ask, "Show the job and wait for a yes before anything is computed");
    app.add_option("-o,--output", options->output, "Folder for features.npz and personal.npz (default: the kit)")
        .type("DIR");
    return [options, &app](Session& session) { execute_client(app, *options, session); };
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
        "min_patients, max_rank_share, max_directions_share, any_cohort, aggregates, max_heldout, max_sums, "
        "max_sum_width, min_others, missing, "
        "patience, worst_verdict, "
        "and of masked sums secure_only, min_cohort, colluders, patients_per_direction, mu, dp_epsilon and dp_delta. "
        "What "
        "is "
        "not allowed is refused, in words at both ends; the job that was agreed to is in the log. Jobs add up: "
        "disclosed.jsonl in the kit says which patients (by a hash of each record) have shown how many directions to "
        "which job, and a job that would show too many more, or that differs from another by a few patients, is "
        "refused. The same job again shows nothing new; of masked sums that takes the same seed and clients, too.\n\n"
        "In a job of a coordinator with --secure the client masks what it sends, so that only the sum over all clients "
        "can be read (which hides who contributed what, not the records: noise protects those), and holds every step "
        "against what the job said at its start: who takes part, with keys that "
        "their "
        "certificates signed, how many sums there are and how wide. No sum is answered twice, whatever happens to "
        "either "
        "process: sums.json in the kit says what was answered. privacy-account.txt says what jobs with --dp-epsilon "
        "have "
        "spent of each data set; a budget (mu, dp_epsilon) refuses what would exceed it.",
    .output =
        "Who is in the result, RSE of this client's patients, what was sent and received.\n"
        "--json: rse, rse_heldout, rel_error_bound (of all together), ranks, personal_ranks, numbers_up_per_client, "
        "numbers_down_per_client, bytes_up, bytes_down (its own questions, answers and features, each message once), "
        "bytes_overhead (the rest: greetings, schema, reports), seconds {clients_max, total}, rounds, method, "
        "network, "
        "aggregate, seed, version, job, clients, members, missing, output.\n"
        "imputed {settled, unknown_features (that this client knows of nobody)}: of a job with --missing impute, whose "
        "rse counts the known entries; without settling the "
        "result is written and the exit status is 1.\n"
        "privacy: of a job with --secure, the object of couplet simulate --json.\n"
        "--account: a line per data set; --json: delta, data [{data, jobs, epsilon, given}].\n"
        "gain {alone, together}: of a job with --heldout, this client's error on new patients with features that it "
        "learns by itself and with those of the federation; measured here, told to nobody.\n"
        "doubts: instead of rel_error_bound when this client's own error contradicts it.\n"
        "-o: features.npz holds core_2 ... core_N, personal.npz (for its owner alone) core_1; their product is this "
        "client's tensor. Also in the kit: log.jsonl, and audit.jsonl with what was sent and received.",
    .examples =
        "couplet client --kit hospital-a --data a.npy\n"
        "couplet client --kit hospital-a --data a.npy -o result --deadline 2h\n"
        "couplet client --kit hospital-a --data a.npy --policy strict.toml --ask\n"
        "couplet client --kit hospital-a --account",
    .common = "kit data deadline policy ask account output",
    .setup = set_up_client};

}  // namespace couplet::cli
