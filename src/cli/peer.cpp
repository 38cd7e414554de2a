#include "couplet/net/peer.hpp"
#include "command.hpp"

#include <memory>
#include <utility>

#include "couplet/core/error.hpp"
#include "couplet/io/data_print.hpp"
#include "couplet/linalg/backend.hpp"
#include "duration.hpp"
#include "federation.hpp"
#include "job_options.hpp"
#include "network_report.hpp"
#include "peer_report.hpp"
#include "privacy_options.hpp"
#include "result_folder.hpp"
#include "signals.hpp"
#include "site_policy.hpp"
#include "verb.hpp"

namespace couplet::cli {
namespace {

struct PeerArguments {
    std::string kit;
    std::string data;
    JobFlags flags;
    Duration deadline = std::chrono::seconds(60);
    Duration gather = {};         ///< nothing: a quarter of the deadline
    Duration link_deadline = {};  ///< nothing: a twelfth of the deadline, at most five seconds
    std::string output;
    std::string policy;
    PrivacyFlags privacy;
};

/// How the sums shall be seen; nothing without --secure. Whoever has no policy has none for masked sums either.
std::optional<ShieldTerms> shield_of(const Command& app, const PeerArguments& options) {
    const PrivacyFlags& privacy = options.privacy;
    if (!privacy.secure) {
        refuse_given(app, {"--mu", "--dp-epsilon", "--dp-delta", "--clip"}, "no --secure", "it with --secure");
        return std::nullopt;
    }
    refuse_given(app, {"--scale-clients", "--consensus", "--weights", "--iterations"}, "--secure", "one or the other");
    if (!privacy.epsilon) refuse_given(app, {"--dp-delta"}, "no --dp-epsilon", "it with --dp-epsilon");
    if (privacy.mu) {
        refuse_given(app, {"--dp-epsilon", "--dp-delta", "--sketch", "--passes", "--heldout"}, "--mu",
                     "one or the other");
    }
    const ShieldTerms terms{.policy = options.policy != "off" && !privacy.mu,
                            .guarantee = privacy.guarantee(),
                            .clip = privacy.clip,
                            .mu = privacy.mu};
    require_possible(terms);
    require_private_preparation(terms, options.flags.preparation());
    return terms;
}

void require_sums(JobOptions& job) {
    if (job.aggregate.value_or(Aggregate::subspace) != Aggregate::subspace) {
        throw InputError({"--aggregate", std::string(to_string(*job.aggregate)), "subspace with --secure",
                          "Only sums can be masked; leave --aggregate out."});
    }
    if (!job.rank) throw InputError({"--rank", "missing", "a rank: sums have no certified error", ""});
    job.aggregate = Aggregate::subspace;
}

Job checked_job(const Command& app, PeerArguments& options, const Session& session) {
    options.flags.job.network = Network::decentralized;
    options.flags.job.seed = session.seed();
    if (options.privacy.secure) require_sums(options.flags.job);
    const Job job = resolve_job(options.flags.job);
    refuse_idle_flags(app, job);
    refuse_idle_consensus(app, job);
    if (options.flags.heldout > 0 && !job.refit) {
        throw InputError({"--heldout", "held-out patients without a refit", "--refit",
                          "Without it there is no personal core for new patients."});
    }
    return job;
}

void keep(const net::PeerResult& result, const JobOutput& output, const Federation& federation) {
    const nlohmann::json metadata{{"job", result.job}, {"members", result.members}, {"version", version()}};
    nlohmann::json own = metadata;
    own["features_print"] = features_print(result.features.train);
    if (federation.are_whole) own["data"] = federation.print_of(0);
    save_personal(output.file("personal.npz"), result.personal, federation.personal_labels.front(), own, true);
    nlohmann::json shared = metadata;
    shared["seed"] = result.spec.job.seed;
    if (result.rse) shared["rse"] = *result.rse;
    if (result.rel_error_bound) shared["rel_error_bound"] = *result.rel_error_bound;
    save_features(output.file("features.npz"), result.features, result.schema.modes, std::move(shared), true);
}

net::PeerOptions peer_options(const PeerArguments& options, const Job& job) {
    net::PeerOptions how{.spec = {job, options.flags.preparation()}};
    const auto longest = std::chrono::hours(24 * 365);
    how.deadline = options.deadline.value_or(longest);
    how.gather = options.gather.value_or(how.deadline / 4);
    how.link_deadline =
        options.link_deadline.value_or(std::min<std::chrono::milliseconds>(std::chrono::seconds(5), how.deadline / 12));
    constexpr std::chrono::milliseconds least(100);
    if (how.link_deadline < least) {
        throw InputError({"--link-deadline", "less than 100ms", "time for a message to come through",
                          "Give a longer --deadline or --link-deadline."});
    }
    return how;
}

void execute_peer(const Command& app, PeerArguments& options, const Session& session) {
    const auto shield = shield_of(app, options);
    warn_of_masking(options.privacy, session);
    const Job job = checked_job(app, options, session);
    net::PeerOptions how = peer_options(options, job);
    how.spec.shield = shield;
    how.schema = given_schema(options.flags);
    const net::Kit kit = net::load_kit(options.kit);
    const Federation federation = open_federation(
        {.files = {options.data},
         .missing_remedy = "Peers do not fill missing values: use a coordinator with --missing impute, or couplet "
                           "simulate --network decentralized --missing impute."},
        session);
    refuse_idle_errors(app, job, federation.features);
    const std::string folder = options.output.empty() ? options.kit : options.output;
    const JobOutput output(folder, {"features.npz", "personal.npz"}, session.force());
    output.require_free("");
    blas_core_name();  // loads the library before the clock of the job runs
    net::Log log(
        kit.file("log.jsonl"), [&session](std::string_view line) { session.note(line); }, session.spelling());
    const auto policy = site_policy(options.policy, kit);
    tell_policy(policy, log);
    const auto x = federation.source->client(0);
    net::DisclosureLedger ledger(kit.file(ledger_file));
    net::Consent consent = make_consent(policy.value_or(net::no_policy()), *x);
    net::PrivacyBook book(kit.file(account_file));
    consent.remember(ledger, *x, &book);
    how.vet = [&consent](const wire::Message& message) { consent.vet(message); };
    if (policy) how.demands = consent.demands();
    how.vet_plan = [&](const ShieldPlan& plan, const std::string& id) {
        agree_to_plan(plan, id, {consent, book, ledger, policy, *x, log});
    };
    how.vet_sum = [&](const MaskedSum& sum, const std::string& id) {
        agree_to_sum(sum, id, {consent, book, ledger, policy, *x, log});
    };
    how.deliver = [&](const net::PeerResult& result) { keep(result, output, federation); };
    net::PeerNode peer(kit, x, std::move(how), log);
    const StopOnSignal guard([&peer] { peer.stop(); });
    try {
        const net::PeerResult result = peer.run();
        session.print(peer_json(result, folder), peer_text(result, folder));
    } catch (const InputError& error) {
        throw federation.named(error);
    }
}

Action set_up_peer(Command& app) {
    auto options = std::make_shared<PeerArguments>();
    app.add_option("--kit", options->kit, "Folder that couplet provision made for this peer").type("DIR").required();
    app.add_option("--data", options->data, "This peer's tensor: .npy, .csv, .csv.gz or .tns; it stays here")
        .type("FILE")
        .required();
    add_job_flags(app, options->flags);
    add_consensus_flags(app, options->flags);
    add_preparation_flags(app, options->flags);
    add_schema_flags(app, options->flags);
    add_deadline(app, "60s", options->deadline, "How long the job may take, waiting included: 60s, 10m, 2h, none");
    add_duration(app, "--gather", "a quarter of the deadline", options->gather,
                 "How long to wait for peers that are not there before it begins without them");
    add_duration(app, "--link-deadline", "5s, or a twelfth of the deadline", options->link_deadline,
                 "A neighbour that is silent for so long is lost");
    add_policy_flag(app, options->policy);
    app.add_flag(
        "--secure", options->privacy.secure,
        "Peers mask what they send, and only the sums over all of them can be read: that hides who contributed what, "
        "not the records, which --dp-epsilon protects; implies --aggregate subspace. At least three peers, all of whom "
        "must stay until the end. With --policy off the masked "
        "sums may show any number of directions");
    add_noise_flags(app, options->privacy);
    add_mu_flag(app, options->privacy);
    app.add_option("-o,--output", options->output, "Folder for features.npz and personal.npz (default: the kit)")
        .type("DIR");
    return [options, &app](Session& session) { execute_peer(app, *options, session); };
}

}  // namespace

extern const Verb peer_verb{
    .name = "peer",
    .group = network_group,
    .summary = "take part in a job without a coordinator",
    .description =
        "Talks to the neighbours that the kit names, both sides proving who they are (mutual TLS), until all have the "
        "same features. Start one on every machine with the same job flags and seed; the result is that of couplet "
        "simulate --network decentralized with the members in the kit's order, bit for bit. Data and personal core "
        "stay "
        "here.\n\n"
        "When a peer or a link is lost, the rest begins again without it, as long as it holds together and more than "
        "half of the provisioned peers; all others end with the reason. A peer that was lost can take part in the next "
        "job.\n\n"
        "The site's policy (policy.toml, as couplet client has it) is held against the job before anything is "
        "computed, "
        "against the number of members before they begin, and against every merge before it is sent.\n\n"
        "With --secure every pair of peers hides its numbers behind masks that cancel in the sum over all of them, "
        "made "
        "from keys that their certificates have signed: a neighbour sees nothing but random numbers, and everybody "
        "learns the sums. Masks hide who contributed what, not the records: from exact sums most sparse records can be "
        "rebuilt, and only noise (--mu or --dp-epsilon) protects them. A peer that is lost once masked numbers were "
        "sent ends "
        "the job for all: the "
        "same sums without it would show what it contributed.",
    .output =
        "A line per member with its rank and RSE, who is in the result, and what was sent.\n"
        "--json: the fields of couplet simulate --json that a peer knows (of all members), and graph, members, missing "
        "(names), links (pairs of members, from 1), place (of this peer), restarts, messages_sent, job, output.\n"
        "privacy: with --secure, the object of couplet simulate --json; rse and rse_per_client are then unknown, and "
        "own_rse and own_rse_heldout this peer's.\n"
        "doubts [{client, reason}]: instead of rel_error_bound, as couplet coordinator has them.\n"
        "-o: features.npz holds core_2 ... core_N, personal.npz (for its owner alone) core_1; their product is this "
        "peer's "
        "tensor. Also in the kit: log.jsonl, and audit.jsonl with what was sent and received.",
    .examples =
        "couplet peer --kit p/a --data a.npy --rank 20\n"
        "couplet peer --kit p/a --data a.npy --rank 20 --deadline 10m -o result\n"
        "couplet peer --kit p/a --data a.npy --aggregate stack --eps 0.1\n"
        "couplet peer --kit p/a --data a.npy --rank 10 --secure",
    .common = "kit data rank eps bytes secure dp-epsilon deadline gather policy output",
    .setup = set_up_peer};

}  // namespace couplet::cli
