#include "audit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "audit_report.hpp"
#include "command.hpp"
#include "couplet/core/error.hpp"
#include "couplet/core/spelling.hpp"
#include "couplet/ctt/prepare.hpp"
#include "couplet/io/atomic_file.hpp"
#include "couplet/io/text.hpp"
#include "federation.hpp"
#include "inputs.hpp"
#include "job_options.hpp"
#include "phase_lines.hpp"
#include "privacy_options.hpp"
#include "usage.hpp"
#include "verb.hpp"

namespace couplet::cli {
namespace {

constexpr double default_heldout = 0.2;

struct AuditArguments {
    FederationInput input;
    JobOptions job;
    PrivacyFlags privacy;
    Index client = 1;
    double heldout = default_heldout;
    std::string controls;
    std::string output;
};

/// Patients of all clients who take part, and people who do not.
struct People {
    std::vector<Tensor<double>> training;
    Tensor<double> controls;
};

Tensor<double> stacked(const std::vector<Tensor<double>>& parts, const Shape& like) {
    std::vector<Index> sizes(like.sizes().begin(), like.sizes().end());
    sizes[0] = 0;
    for (const auto& part : parts) sizes[0] += part.shape()[0];
    Tensor<double> all{Shape(sizes)};
    double* at = all.data();
    for (const auto& part : parts) at = std::copy_n(part.data(), part.size(), at);
    return all;
}

/// The controls' features in the order of the clients'.
Tensor<double> read_controls(const std::string& file, const AlignedSource& aligned) {
    auto controls = read_tensor(file, "Leave these people or features out.").take<double>();
    if (controls.shape().order() != aligned.schema.features.order() + 1) {
        throw InputError(
            {file, "shape " + controls.shape().to_string(), "patients x " + aligned.schema.features.to_string(), ""});
    }
    PreparedClient people;
    people.schema = feature_schema(controls, file);
    people.training = std::make_shared<const Tensor<double>>(std::move(controls));
    follow_schema(people, aligned.schema, Unnamed::allow, file);
    return Tensor<double>::copy(people.training->view());
}

People gather(const Federation& federation, const AuditArguments& options, std::uint64_t seed) {
    const AlignedSource aligned = align_source(*federation.source, options.job.unnamed, {});
    const double heldout = options.controls.empty() ? options.heldout : 0;
    People people;
    std::vector<Tensor<double>> others;
    for (Index k = 0; k < federation.clients(); ++k) {
        HeldOut parts = hold_out(aligned.source.client(k)->view(), heldout, seed, k);
        people.training.push_back(std::move(parts.training));
        others.push_back(std::move(parts.heldout));
    }
    people.controls = options.controls.empty() ? stacked(others, people.training.front().shape())
                                               : read_controls(options.controls, aligned);
    return people;
}

struct Audited {
    AuditReport report;
    AuditSubject subject;
};

Audited run(const AuditArguments& options, const Session& session) {
    if (!options.job.rank) {
        throw InputError({"--rank", "missing", "a rank", "The one of the job that is to be audited."});
    }
    session.claim_output(options.output, options.input.files);
    JobOptions job = options.job;
    job.seed = session.seed();
    const Federation federation = open_federation(options.input, session);
    const People people = [&] {
        try {
            return gather(federation, options, session.seed());
        } catch (const InputError& error) {
            throw federation.named(error);
        }
    }();
    Clients clients;
    for (const auto& x : people.training) clients.push_back(x.view());
    if (!options.controls.empty() && usable_controls(clients, people.controls.view()).shape()[0] == 0) {
        throw InputError({options.controls, "no record that could be a control",
                          "people who took part nowhere, with records that are not empty",
                          "Those of patients who take part cannot say what chance finds."});
    }
    Audited audited;
    const AuditOptions how{.job = resolve_job(job),
                           .client = options.client - 1,
                           .guarantee = options.privacy.guarantee(),
                           .clip = options.privacy.clip,
                           .progress = phase_lines(session)};
    try {
        audited.report = audit(clients, people.controls.view(), how);
    } catch (const InputError& error) {
        throw federation.named(error);
    }
    for (std::string& reason : audited.report.skipped) reason = spelled(reason, session.spelling());
    audited.subject = {federation.name(options.client - 1), federation.description, *options.job.rank, session.seed(),
                       options.output};
    if (!options.output.empty()) {
        AtomicFile file(options.output, session.force());
        const std::string page = audit_page(audited.report, audited.subject);
        file.write(std::as_bytes(std::span(page)));
        file.commit();
    }
    return audited;
}

void execute_audit(const AuditArguments& options, const Session& session) {
    const Audited audited = run(options, session);
    session.print(audit_json(audited.report, audited.subject), audit_text(audited.report, audited.subject));
}

void add_options(Command& app, const std::shared_ptr<AuditArguments>& options) {
    add_federation_input(app, options->input);
    JobOptions& job = options->job;
    add_count(app, {"--client", "K", 1, 1'000'000, "They are counted from 1, in the order given."}, options->client,
              "Whose message is attacked");
    add_text(app, "--rank", "R", "", "Rank R1 of the job", [&job](const auto& text) {
        job.rank = parse_count({"--rank", "R", 1, std::numeric_limits<Index>::max(), ""}, text);
    });
    add_text(app, "--eps1", "E", "0.01", "Relative error of what clients send (stack)",
             [&job](const auto& text) { job.eps1 = parse_eps("--eps1", text); });
    add_word(app, "--sketch", {"auto", "random", "gram"}, "auto",
             "Sums of products with a random block, or Gram matrices",
             [&job](const auto& text) { job.sketch = parse_sketch(text); });
    add_text(app, "--passes", "N", "3", "Sums of products with a random block", [&job](const auto& text) {
        job.passes = static_cast<int>(parse_count({"--passes", "N", 1, 50, "Three are usually enough."}, text));
    });
    add_unnamed_flag(app, job.unnamed);
    add_noise_flags(app, options->privacy);
    add_text(app, "--heldout", "FRACTION", "0.2",
             "Part of each client's patients who do not take part: the controls of every attack",
             [options](const auto& text) { options->heldout = parse_fraction("--heldout", text); });
    app.add_option("--controls", options->controls, "Tensor of people who took part nowhere, instead of --heldout")
        .type("FILE");
    add_output(app, ".html", false, options->output, "A page with the verdicts");
}

Action set_up_audit(Command& app) {
    auto options = std::make_shared<AuditArguments>();
    add_options(app, options);
    return [options](Session& session) { execute_audit(*options, session); };
}

}  // namespace

Json run_audit(EmbeddedCall call) {
    auto options = std::make_shared<AuditArguments>();
    options->input.tensors = std::move(call.clients);
    options->input.names = std::move(call.names);
    Json json;
    const auto add = [&](Command& app) { add_options(app, options); };
    run_embedded("audit", call, add, [&](const Command&, const Session& session) {
        const Audited audited = run(*options, session);
        json = audit_json(audited.report, audited.subject);
    });
    return json;
}

extern const Verb audit_verb{
    .name = "audit",
    .group = federation_group,
    .summary = "attack what a client would send, and say what leaks",
    .description =
        "Plays the curious coordinator, a neighbour, a client that colludes, and everybody who gets the published "
        "features, in every mode: on what each of them sees it tries to rebuild patients (the rows as they are, their "
        "singular vectors, independent components, a search for outer products, sparse fits of rare rows, and a "
        "lattice that solves sums over "
        "records of 0 and 1 for whole records), to tell who took part, and to "
        "read sums that rest on few people. Every attack is tried on held-out patients too, so that what chance finds "
        "is not blamed on the method.\n\n"
        "Give the files of all clients, or --split K to see what a federation of K such clients would show. With one "
        "client alone only its own messages are attacked. With --dp-epsilon and --clip differentially private sums are "
        "tried as well.\n\nModes: stack, average and subspace as simulate has them; secure: only the sums over all "
        "clients are "
        "seen, within the leakage policy (at most one direction for ten honest patients, records clipped at the 90th "
        "percentile of their norms) or without it: the sums that simulate --secure would ask for with the same flags, "
        "and the counts of record norms before them; private: sums with noise.",
    .output =
        "The answer in a sentence or two and the modes in order, the one that shows least first; a line for every mode "
        "and whoever sees it, then the verdicts, worst first: reveals individual patients; "
        "reveals who took part; reveals second moments; untested, for want of controls; shared features only; "
        "differentially private. A guarantee with epsilon above 10, or with a delta of one patient or more, counts for "
        "nothing.\n"
        "--json: summary (the answer in a sentence or two), ranking [{mode, verdict, recovered, patients, auc}] (the "
        "mode "
        "that shows least first), verdict (the worst: patients, membership, second-moments, untested, features-only, "
        "differentially-private), "
        "findings [{mode, seen_by, what, verdict, sentence, directions, direct, ica, rank_one, rare_rows and lattice "
        "(those that "
        "were tried) {recovered, patients, "
        "controls_recovered, controls}, membership {auc, low, high}, second_moment {relative_error, small_cells, "
        "disclosed}, guarantee {epsilon, delta, weakness}, policy}], skipped, client, clients, patients, "
        "patients_total, left_out (empty records and copies), controls, controls_left_out, rank, leverage, seed, "
        "version, output.\n"
        "-o: a page that stands alone, for a data-protection officer.",
    .examples =
        "couplet audit a.npy b.npy c.npy --rank 20\n"
        "couplet audit --split 8 X.npy --rank 30 --passes 2 -o leaks.html\n"
        "couplet audit X.npy --rank 20 --controls others.npy\n"
        "couplet audit --split 4 X.npy --rank 10 --dp-epsilon 1 --clip 4",
    .common = "split rank client dp-epsilon clip heldout controls output",
    .setup = set_up_audit};

}  // namespace couplet::cli
