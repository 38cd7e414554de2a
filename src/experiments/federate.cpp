#include "couplet/experiments/federate.hpp"

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "couplet/consensus/graph_builders.hpp"
#include "couplet/consensus/runner.hpp"
#include "couplet/core/error.hpp"
#include "couplet/core/threads.hpp"
#include "couplet/ctt/client.hpp"
#include "couplet/linalg/products.hpp"
#include "couplet/tt/tt_svd.hpp"

namespace couplet {
namespace {

Index rows_of_client(const ClientSource& source, Index k) { return source.client(k)->shape()[0]; }

/// W (R1 x P) as its TT-SVD(eps2) gives it back, the R1 bond untouched: eps2/sqrt(N - 2) at every feature bond.
Matrix<double> cut(Matrix<double> w, const Shape& features, double eps2) {
    const Index bonds = features.order() - 1;
    if (bonds < 1) return w;
    std::vector<Index> sizes{w.rows() * features[0]};
    for (Index n = 1; n < features.order(); ++n) sizes.push_back(features[n]);
    const Index rows = w.rows();
    TtSvdOptions how;
    how.bonds.assign(static_cast<std::size_t>(bonds), {eps2 / std::sqrt(static_cast<double>(bonds)), unlimited_rank});
    const auto train = tt_svd<double>(Tensor<double>(Shape(std::move(sizes)), std::move(w).release()), how).train;
    return Matrix<double>::adopt(train.full().release(), rows, features.size());
}

double squared_distance(MatrixView<const double> a, MatrixView<const double> b) {
    double sum = 0;
    for (Index i = 0; i < a.rows; ++i) {
        for (Index j = 0; j < a.cols; ++j) sum += (a(i, j) - b(i, j)) * (a(i, j) - b(i, j));
    }
    return sum;
}

}  // namespace

JobOptions printed_star(Index rank, double eps1, double eps2) {
    return {.aggregate = Aggregate::average, .rank = rank, .eps1 = eps1, .eps2 = eps2};
}

JobOptions printed_refit(Index rank) {
    JobOptions job = printed_star(rank);
    job.refit = true;
    return job;
}

JobOptions printed_peers(Index rank, Index clients, Index iterations, const std::string& graph) {
    const bool magic = graph == "complete" && clients > 2;
    return {.network = Network::decentralized,
            .aggregate = Aggregate::average,
            .rank = rank,
            .graph = graph,
            .weights = magic ? "magic" : "paper",
            .iterations = iterations};
}

JobOptions couplet_star(Index rank) { return {.rank = rank}; }

JobOptions couplet_peers(Index rank, const std::string& graph) {
    return {.network = Network::decentralized, .rank = rank, .graph = graph};
}

double federation_seconds(const SimulationResult& result) noexcept {
    return result.seconds.clients_max + result.seconds.server;
}

double total_bytes(const SimulationResult& result) noexcept { return result.bytes_up + result.bytes_down; }

double table_rse(const ClientSource& source, const JobOptions& options) {
    const Job job = resolve_job(options);
    const Index clients = source.clients();
    if (!job.consensus.iterations || *job.consensus.iterations < 1 || !job.rank) {
        throw InputError({"iterations", "none", "a rank, and at least one iteration", ""});
    }
    const Index rank = *job.rank;
    for (Index k = 0; k < clients; ++k) {
        if (rows_of_client(source, k) >= rank) continue;
        throw InputError({"`rank`", std::to_string(rank),
                          "at most the " + std::to_string(rows_of_client(source, k)) + " patients of client " +
                              std::to_string(k + 1),
                          ""});
    }
    const Shape shape = source.client(0)->shape();
    const Shape features(std::vector<Index>(shape.sizes().begin() + 1, shape.sizes().end()));
    Matrix<double> initial(clients, rank * features.size());
    std::vector<double> norms2(static_cast<std::size_t>(clients));
    parallel_for(clients, [&](Index k) {
        const auto x = source.client(k);
        const auto split = split_personal(x->view(), rank);
        std::copy_n(split.weighted.data(), split.weighted.size(), initial.view().row(k));
        norms2[static_cast<std::size_t>(k)] = squared_norm(x->view().unfold(1));
    });
    Matrix<double> states = Matrix<double>::copy(initial.view());
    ConsensusOptions consensus = job.consensus;
    consensus.iterations = *job.consensus.iterations - 1;
    run_consensus(make_consensus_plan(make_graph(job.graph, clients, job.seed), consensus), states.view());
    double whole = 0;
    double cut_off = 0;  // ||X_k||^2 - ||D_k||^2, the same for every W
    for (Index k = 0; k < clients; ++k) {
        whole += norms2[static_cast<std::size_t>(k)];
        cut_off += norms2[static_cast<std::size_t>(k)] - squared_norm<double>(initial.view().rows_from(k, 1));
    }
    std::vector<double> errors2(static_cast<std::size_t>(clients), cut_off);
    parallel_for(clients, [&](Index j) {
        Matrix<double> w = Matrix<double>::copy(states.view().rows_from(j, 1));
        w.reshape(rank, features.size());
        w = cut(std::move(w), features, job.eps2);
        w.reshape(1, rank * features.size());
        for (Index k = 0; k < clients; ++k) {
            errors2[static_cast<std::size_t>(j)] += squared_distance(initial.view().rows_from(k, 1), w.view());
        }
    });
    double mean = 0;
    for (const double error2 : errors2) mean += error2 / static_cast<double>(clients);
    return whole > 0 ? mean / whole : 0;
}

}  // namespace couplet
