#include "couplet/net/status.hpp"

#include <CLI/CLI.hpp>
#include <memory>

#include "couplet/core/error.hpp"
#include "couplet/net/client.hpp"
#include "duration.hpp"
#include "network_report.hpp"
#include "verb.hpp"

namespace couplet::cli {
namespace {

struct Options {
    std::string kit;
    Duration deadline = std::chrono::seconds(10);
    bool insecure = false;
};

void execute(const Options& options, const Session& session) {
    const net::Kit kit = net::load_kit(options.kit);
    if (kit.coordinator.empty()) {
        throw InputError({options.kit, "the kit of a peer", "that of a coordinator or of one of its clients",
                          "Peers have no coordinator to ask: each prints and logs how it stands."});
    }
    const auto status = net::fetch_status(kit, options.insecure, options.deadline.value_or(std::chrono::hours(24)));
    session.print(net::status_json(status), status_text(status));
}

Action setup(CLI::App& app) {
    auto options = std::make_shared<Options>();
    app.add_option("--kit", options->kit, "Folder of any party")->type_name("DIR")->required();
    add_deadline(app, "10s", options->deadline, "How long to wait for an answer");
    app.add_flag("--insecure", options->insecure, "No TLS; only with a coordinator on this machine");
    return [options](Session& session) { execute(*options, session); };
}

}  // namespace

extern const Verb status_verb{
    .name = "status",
    .group = network_group,
    .summary = "show how a coordinator's job stands",
    .description =
        "Asks the coordinator of a kit, as one of its parties, how its job stands. The coordinator's machine also "
        "shows it "
        "as a page: http://127.0.0.1 with the http_port of its kit, with /metrics for Prometheus beside it.",
    .output =
        "A line per client: its state; then the phase and for whom it waits. Patients, bytes, RSE and refusals of "
        "others "
        "are shown to the coordinator alone; a client sees its own.\n"
        "--json: job, phase (joining, running, delivering, closed), aggregate, attempt, round, waiting (names), "
        "seconds_left, clients [{name, state, rows, bytes_up, bytes_down, rse, last_refusal}], refused, uptime, "
        "version.",
    .examples =
        "couplet status --kit hospital-a\n"
        "couplet status --kit coordinator --json",
    .setup = setup};

}  // namespace couplet::cli
