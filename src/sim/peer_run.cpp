#include <algorithm>
#include <cmath>
#include <deque>
#include <optional>
#include <utility>

#include "couplet/consensus/graph_builders.hpp"
#include "couplet/consensus/plan.hpp"
#include "couplet/core/error.hpp"
#include "couplet/ctt/peer.hpp"
#include "couplet/linalg/products.hpp"
#include "run.hpp"

namespace couplet {
namespace {

struct Delivery {
    Index from;
    PeerMessage message;
};

/// max_k ||x_k - mean|| over the same for the initial states.
double measured_error(const std::vector<std::optional<Peer>>& peers) {
    const std::size_t n = peers.front()->consensus_initial().size();
    if (n == 0) return 0;
    std::vector<double> mean(n, 0.0);
    for (const auto& peer : peers) {
        for (std::size_t i = 0; i < n; ++i) mean[i] += peer->consensus_initial()[i];
    }
    for (double& value : mean) value /= static_cast<double>(peers.size());
    const auto spread = [&](auto states) {
        double worst = 0;
        for (const auto& peer : peers) {
            double sum = 0;
            for (std::size_t i = 0; i < n; ++i) {
                const double d = states(*peer)[i] - mean[i];
                sum += d * d;
            }
            worst = std::max(worst, std::sqrt(sum));
        }
        return worst;
    };
    const double before = spread([](const Peer& p) -> const std::vector<double>& { return p.consensus_initial(); });
    const double after = spread([](const Peer& p) -> const std::vector<double>& { return p.consensus_result(); });
    return before > 0 ? after / before : 0;
}

/// Rounds of messages in which everybody talks at once.
Index count_rounds(const Job& job, const ConsensusPlan& plan, Index sums) {
    if (job.aggregate == Aggregate::stack) return 2 * plan.graph.radius();
    if (job.aggregate == Aggregate::average) return plan.iterations;
    return sums * (plan.iterations + plan.graph.eccentricity(0));
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
            hellos[at] = StarClient(job, data[at].training->view()).hello();
        },
        [](Index) {});
    start_job(job, hellos);  // checks that the clients fit together
    const Index sums =
        job.aggregate == Aggregate::subspace ? SubspaceIteration(job, hellos.front().features).sums_left() : 1;
    std::vector<std::vector<PeerMessage>> first(static_cast<std::size_t>(nodes));
    std::deque<Delivery> queue;
    double numbers = 0;
    auto& result = run.result_;
    const auto post = [&](Index from, std::vector<PeerMessage> messages) {
        for (auto& message : messages) {
            const auto size = static_cast<double>(count_numbers(*message.body));
            if (!std::holds_alternative<Start>(*message.body)) {
                numbers += size;
                result.bytes_up += serialised_bytes(size);
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
    result.rounds = count_rounds(job, plan, sums);
    const double links = 2 * static_cast<double>(graph.edges().size());
    result.numbers_up_per_client = links > 0 ? numbers / links : 0;
    result.numbers_total = numbers;
    if (job.aggregate != Aggregate::stack) {
        result.consensus = ConsensusReport{plan.lambda2, plan.iterations, measured_error(peers)};
    }
}

}  // namespace couplet
