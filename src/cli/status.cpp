#include "couplet/net/status.hpp"
#include "command.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <memory>

#include "couplet/core/error.hpp"
#include "couplet/net/client.hpp"
#include "couplet/net/trail_status.hpp"
#include "duration.hpp"
#include "format.hpp"
#include "layout.hpp"
#include "network_report.hpp"
#include "verb.hpp"

namespace couplet::cli {
namespace {

struct StatusArguments {
    std::string kit;
    Duration deadline = std::chrono::seconds(10);
    bool insecure = false;
};

std::string bytes_text(double bytes) { return count_text(static_cast<Index>(bytes)) + " bytes"; }

std::string trail_text(const net::TrailStatus& s) {
    std::vector<std::vector<std::string>> lines{{"neighbour", "sent", "received", "last"}};
    for (const auto& one : s.neighbours) {
        lines.push_back({one.name, bytes_text(one.bytes_sent), bytes_text(one.bytes_received),
                         !one.last.empty() ? one.last
                         : one.joined      ? "it came, nothing passed yet"
                                           : "never"});
    }
    if (s.job.empty()) return table(lines) + "\n" + fields({{"job", "none yet in this kit"}});
    std::vector<std::pair<std::string, std::string>> rows{{"job", s.job}, {"state", s.state}, {"begun", s.begun}};
    if (!s.ended.empty()) rows.emplace_back("ended", s.ended);
    rows.emplace_back("epochs", count_text(s.epochs));
    if (!s.members.empty()) rows.emplace_back("members", fmt::format("{}", fmt::join(s.members, ", ")));
    if (!s.missing.empty()) rows.emplace_back("missing", fmt::format("{}", fmt::join(s.missing, ", ")));
    if (!s.reason.empty()) rows.emplace_back("reason", s.reason);
    if (!s.said.empty()) rows.emplace_back("said", s.said);
    return table(lines) + "\n" + fields(rows);
}

void execute_status(const StatusArguments& options, const Session& session) {
    const net::Kit kit = net::load_kit(options.kit);
    if (kit.coordinator.empty()) {
        const net::TrailStatus status = net::read_trail_status(kit);
        return session.print(net::trail_status_json(status), trail_text(status));
    }
    const auto status = net::fetch_status(kit, options.insecure, options.deadline.value_or(std::chrono::hours(24)));
    session.print(net::status_json(status), status_text(status));
}

Action set_up_status(Command& app) {
    auto options = std::make_shared<StatusArguments>();
    app.add_option("--kit", options->kit, "Folder of any party").type("DIR").required();
    add_deadline(app, "10s", options->deadline, "How long to wait for an answer");
    app.add_flag("--insecure", options->insecure, "No TLS; only with a coordinator on this machine");
    return [options](Session& session) { execute_status(*options, session); };
}

}  // namespace

extern const Verb status_verb{
    .name = "status",
    .group = network_group,
    .summary = "show how a coordinator's or a peer's job stands",
    .description =
        "Asks the coordinator of a kit, as one of its parties, how its job stands. The coordinator's machine also "
        "shows it "
        "as a page: http://127.0.0.1 with the http_port of its kit, with /metrics for Prometheus beside it.\n\n"
        "Peers have no coordinator: with the kit of a peer it reads what that peer has written down in its kit, on the "
        "machine that the kit is on. Nothing is sent, and the peer need not run.",
    .output =
        "A line per client: its state; then the phase and for whom it waits. Patients, bytes, RSE and refusals of "
        "others "
        "are shown to the coordinator alone; a client sees its own.\n"
        "--json: job, phase (joining, running, delivering, closed), aggregate, attempt, round, waiting (names), "
        "seconds_left, clients [{name, state, rows, bytes_up, bytes_down, rse, last_refusal}], refused, uptime, "
        "version.\n"
        "Of a peer: a line per neighbour with what passed and when last, then its last job. --json: party, state "
        "(none, running, done, failed, "
        "interrupted), job, text, begun, ended, epoch, epochs, members, missing, neighbours [{name, joined, "
        "messages_sent, messages_received, bytes_sent, bytes_received, last}], reason, said (the last line of its "
        "log), "
        "version.",
    .examples =
        "couplet status --kit hospital-a\n"
        "couplet status --kit coordinator --json",
    .setup = set_up_status};

}  // namespace couplet::cli
