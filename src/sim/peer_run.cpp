#include <algorithm>
#include <deque>
#include <optional>
#include <set>
#include <utility>

#include "couplet/consensus/graph_builders.hpp"
#include "couplet/consensus/plan.hpp"
#include "couplet/consensus/runner.hpp"
#include "couplet/core/error.hpp"
#include "couplet/core/interrupt.hpp"
#include "couplet/ctt/peer.hpp"
#include "couplet/sim/run.hpp"

namespace couplet {
namespace {

struct Delivery {
    Index from;
    PeerMessage message;
};

/// The paper's consensus error of the latest consensus.
double measured_error(const std::vector<std::optional<Peer>>& peers) {
    const auto rows = static_cast<Index>(peers.size());
    const auto n = static_cast<Index>(peers.front()->consensus_initial().size());
    Matrix<double> initial(rows, n);
    Matrix<double> states(rows, n);
    for (Index k = 0; k < rows; ++k) {
        const Peer& peer = *peers[static_cast<std::size_t>(k)];
        std::ranges::copy(peer.consensus_initial(), initial.view().row(k));
        std::ranges::copy(peer.consensus_result(), states.view().row(k));
    }
    return consensus_error(initial.view(), states.view());
}

/// As peers do it, who see no labels but their neighbours': the clients fit together, and take part in one order.
void align_peers(SimulationRun& run, const std::vector<Hello>& hellos, std::vector<PreparedClient>& data) {
    const auto& given = run.options_.schema;
    start_job(run.job_, hellos, given);
    std::vector<SchemaPrint> prints;
    std::vector<std::string> names;
    for (std::size_t k = 0; k < hellos.size(); ++k) {
        prints.push_back(fingerprint(hellos[k].schema()));
        names.push_back("client " + std::to_string(k + 1));
    }
    for (std::size_t k = 0; k < data.size(); ++k) {
        const Schema schema =
            given && given->named() ? *given : peer_schema(hellos[k].schema(), prints, names, run.job_.unnamed);
        run.result_.reordered[k] = follow_schema(data[k], schema, run.job_.unnamed, names[k]);
        if (schema.named() && !run.result_.schema.named()) run.result_.schema = schema;
    }
}

}  // namespace

void run_peers(SimulationRun& run) {
    const Index nodes = run.clients();
    const Job& job = run.job_;
    const Graph graph = make_graph(job.graph, nodes, job.seed);
    const ConsensusPlan plan = make_consensus_plan(graph, job.consensus);
    std::vector<PreparedClient> data(static_cast<std::size_t>(nodes));
    std::vector<std::optional<Peer>> peers(static_cast<std::size_t>(nodes));
    std::vector<Hello> hellos(static_cast<std::size_t>(nodes));
    run.for_clients(
        "hello",
        [&](Index k) {
            const auto at = static_cast<std::size_t>(k);
            data[at] = run.prepare(k);
            hellos[at] = StarClient(job, data[at]).hello();
        },
        [](Index) {});
    align_peers(run, hellos, data);
    std::vector<std::vector<PeerMessage>> first(static_cast<std::size_t>(nodes));
    std::deque<Delivery> queue;
    Traffic traffic;
    std::set<std::pair<Index, Index>> links;  // one way, that carry anything
    auto& result = run.result_;
    const auto post = [&](Index from, std::vector<PeerMessage> messages) {
        for (auto& message : messages) {
            const auto size = static_cast<double>(count_numbers(*message.body));
            if (!std::holds_alternative<Start>(*message.body)) {
                traffic.message_up(size, serialised_bytes(*message.body));
                links.emplace(from, message.to);
            }
            queue.push_back({from, std::move(message)});
        }
    };
    run.for_clients(
        "clients",
        [&](Index k) {
            const auto at = static_cast<std::size_t>(k);
            peers[at].emplace(job, plan, k, data[at].training->view());
            first[at] = peers[at]->start();
        },
        [&](Index k) { post(k, std::move(first[static_cast<std::size_t>(k)])); });
    report(run.options_.progress, "consensus", 0, 1);
    while (!queue.empty()) {
        check_stop();
        const Delivery delivery = std::move(queue.front());
        queue.pop_front();
        const Index to = delivery.message.to;
        const auto at = static_cast<std::size_t>(to);
        std::vector<PeerMessage> answers;
        {
            const Stopwatch watch(run.client_seconds_[at]);
            answers = peers[at]->receive(delivery.from, delivery.message);
        }
        post(to, std::move(answers));
    }
    report(run.options_.progress, "consensus", 1, 1);
    for (Index k = 0; k < nodes; ++k) {
        const auto& peer = *peers[static_cast<std::size_t>(k)];
        if (!peer.finished()) throw RunError({"simulation", "a peer that never finished", "an answer", ""});
        if (!run.options_.dry_run) run.book(k, data[static_cast<std::size_t>(k)], peer.result(), peer.features());
        result.personal_ranks.push_back(peer.personal_rank());
    }
    result.rel_error_bound = peers.front()->rel_error_bound();
    result.features = peers.front()->features().clone();
    result.rounds = count_rounds(job, plan, hellos.front().features);
    traffic.store_links(result, static_cast<Index>(links.size()));
    if (job.aggregate != Aggregate::stack) {
        result.consensus = ConsensusReport{plan.lambda2, plan.iterations, measured_error(peers)};
    }
}

}  // namespace couplet
