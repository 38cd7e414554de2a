#include <algorithm>
#include <deque>
#include <memory>
#include <set>
#include <utility>

#include "couplet/consensus/graph_builders.hpp"
#include "couplet/consensus/plan.hpp"
#include "couplet/consensus/runner.hpp"
#include "couplet/core/error.hpp"
#include "couplet/core/interrupt.hpp"
#include "couplet/ctt/peer.hpp"
#include "couplet/ctt/subspace.hpp"
#include "couplet/sim/run.hpp"

namespace couplet {
namespace {

struct Delivery {
    Index from;
    PeerMessage message;
};

/// The paper's consensus error of the latest consensus.
double measured_error(const std::vector<std::unique_ptr<Peer>>& peers) {
    const auto rows = static_cast<Index>(peers.size());
    const auto n = static_cast<Index>(peers.front()->latest_consensus().value().initial.size());
    Matrix<double> initial(rows, n);
    Matrix<double> states(rows, n);
    for (Index k = 0; k < rows; ++k) {
        const ConsensusEnds ends = peers[static_cast<std::size_t>(k)]->latest_consensus().value();
        std::ranges::copy(ends.initial, initial.view().row(k));
        std::ranges::copy(ends.result, states.view().row(k));
    }
    return consensus_error(initial.view(), states.view());
}

/// About as many as a job takes: what is flooded may pass a link twice or not at all.
Index expected_messages(const Job& job, const ConsensusPlan& plan, const Shape& features) {
    const Index along_tree = plan.graph.nodes() - 1;
    // Totals and blocks up the tree, totals and features down it.
    if (job.aggregate == Aggregate::stack) return 4 * along_tree;
    const bool tree = plan.engine == ConsensusEngine::tree;
    const Index both_ways = 2 * static_cast<Index>(plan.graph.edges().size());
    const Index average = tree ? 2 * along_tree : plan.iterations * both_ways;
    if (job.aggregate == Aggregate::average) return average;
    return SubspaceIteration(job, features).sums_left() * (average + (tree ? along_tree : both_ways));
}

/// A phase of about so many messages; it ends when it is over, not when the guess is reached.
class ConsensusProgress {
  public:
    ConsensusProgress(const ProgressSink& sink, Index expected) : sink_(sink), total_(std::max<Index>(1, expected)) {
        report(sink_, "consensus", 0, total_);
    }
    void message() {
        if (++done_ < total_) report(sink_, "consensus", done_, total_);
    }
    void finish() const { report(sink_, "consensus", total_, total_); }

  private:
    const ProgressSink& sink_;
    Index total_;
    Index done_ = 0;
};

/// As peers do it, who see no labels but their neighbours': the clients fit together, and take part in one order.
void align_peers(SimulationRun& run, const std::vector<Hello>& hellos, std::vector<PreparedClient>& data) {
    const auto& given = run.options.schema;
    start_job(run.job, hellos, given);
    std::vector<SchemaPrint> prints;
    std::vector<std::string> names;
    for (std::size_t k = 0; k < hellos.size(); ++k) {
        prints.push_back(fingerprint(hellos[k].schema()));
        names.push_back("client " + std::to_string(k + 1));
    }
    for (std::size_t k = 0; k < data.size(); ++k) {
        const Schema schema =
            given && given->named() ? *given : peer_schema(hellos[k].schema(), prints, names, run.job.unnamed);
        run.result.reordered[k] = follow_schema(data[k], schema, run.job.unnamed, names[k]);
        if (k == 0 || (schema.named() && !run.result.schema.named())) run.result.schema = schema;
    }
}

bool same_cores(const Features& a, const Features& b) {
    if (a.train.ranks() != b.train.ranks()) return false;
    for (Index n = 0; n < a.train.order(); ++n) {
        const auto mine = a.train.core(n);
        if (!std::equal(mine.data(), mine.data() + mine.size(), b.train.core(n).data())) return false;
    }
    return true;
}

}  // namespace

void run_peers(SimulationRun& run) {
    const Index nodes = run.clients();
    const Job& job = run.job;
    const Graph graph = make_graph(job.graph, nodes, job.seed);
    const ConsensusPlan plan = make_consensus_plan(graph, job.consensus);
    std::vector<PreparedClient> data(static_cast<std::size_t>(nodes));
    std::vector<std::unique_ptr<Peer>> peers(static_cast<std::size_t>(nodes));
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
    auto& result = run.result;
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
            peers[at] = make_peer(job, plan, k, data[at].training->view());
            first[at] = peers[at]->start();
        },
        [&](Index k) { post(k, std::move(first[static_cast<std::size_t>(k)])); });
    ConsensusProgress progress(run.options.progress, expected_messages(job, plan, hellos.front().features));
    while (!queue.empty()) {
        check_stop();
        progress.message();
        const Delivery delivery = std::move(queue.front());
        queue.pop_front();
        const Index to = delivery.message.to;
        const auto at = static_cast<std::size_t>(to);
        std::vector<PeerMessage> answers;
        {
            const Stopwatch watch(run.client_seconds[at]);
            answers = peers[at]->receive(delivery.from, delivery.message);
        }
        post(to, std::move(answers));
    }
    progress.finish();
    for (Index k = 0; k < nodes; ++k) {
        const auto& peer = *peers[static_cast<std::size_t>(k)];
        if (!peer.finished()) throw RunError({"simulation", "a peer that never finished", "an answer", ""});
        if (!run.options.dry_run) run.book(k, data[static_cast<std::size_t>(k)], peer.result(), peer.features());
        result.personal_ranks.push_back(peer.personal_rank());
    }
    result.rel_error_bound = peers.front()->rel_error_bound();
    result.features = peers.front()->features().clone();
    const auto differs = [&](const auto& peer) { return !same_cores(peer->features(), *result.features); };
    if (std::ranges::any_of(peers, differs)) {
        for (const auto& peer : peers) result.own_features.push_back(peer->features().clone());
    }
    result.rounds = count_rounds(job, plan, hellos.front().features);
    traffic.store_links(result, static_cast<Index>(links.size()));
    if (job.aggregate != Aggregate::stack) {
        result.consensus = ConsensusReport{plan.lambda2, plan.iterations, measured_error(peers)};
    }
}

}  // namespace couplet
