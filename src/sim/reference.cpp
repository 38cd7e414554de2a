#include "couplet/sim/reference.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "couplet/core/error.hpp"
#include "couplet/ctt/star.hpp"
#include "couplet/sim/run.hpp"
#include "couplet/tt/rounding.hpp"
#include "couplet/tt/tt_svd.hpp"

namespace couplet {

Job reference_job(const ClientSource& source, const SimulationOptions& options) {
    if (source.clients() < 1) {
        throw InputError({"clients", "none", "at least one client", "Name at least one tensor file."});
    }
    if (options.dry_run || options.save_state || options.resume) {
        throw InputError({options.dry_run  ? "`dry_run`"
                          : options.resume ? "`resume`"
                                           : "`save_state`",
                          "a method without a federation", "the method ctt", ""});
    }
    JobOptions asked;
    asked.rank = options.job.rank;
    asked.eps = options.job.eps;
    asked.eps2 = options.job.eps2;
    asked.seed = options.job.seed;
    asked.unnamed = options.job.unnamed;
    return resolve_job(asked);
}

TtSvdOptions reference_bonds(const Job& job, Index order) {
    TtSvdOptions how;
    how.seed = job.seed;
    const Index bonds = order - 1;
    const double share = job.eps ? *job.eps / std::sqrt(static_cast<double>(bonds)) : 0;
    const double feature = job.eps ? share : job.eps2 / std::sqrt(static_cast<double>(std::max<Index>(1, bonds - 1)));
    how.bonds.assign(static_cast<std::size_t>(bonds), BondLimit{feature, unlimited_rank});
    // Without a rank the first bond needs an error of its own.
    const double first = job.eps ? share : job.rank ? 0.0 : feature;
    how.bonds.front() = {first, job.rank.value_or(unlimited_rank)};
    return how;
}

Features features_of(TensorView<const double> x, const TtSvdOptions& how) {
    auto train = tt_svd(x, how).train;
    auto cores = left_orthonormalise(std::move(train)).train;
    auto all = std::move(cores).release();
    all.erase(all.begin());
    return orthonormal_features(TensorTrain<double>(std::move(all)));
}

std::vector<PreparedClient> gather_clients(SimulationRun& run) {
    std::vector<PreparedClient> clients(static_cast<std::size_t>(run.clients()));
    std::vector<Hello> hellos(clients.size());
    run.for_clients(
        "read",
        [&](Index k) {
            const auto at = static_cast<std::size_t>(k);
            clients[at] = run.prepare(k);
            hellos[at] = StarClient(run.job, clients[at]).hello();
        },
        [](Index) {});
    run.align_clients(hellos, [&](Index k) -> PreparedClient& { return clients[static_cast<std::size_t>(k)]; });
    return clients;
}

namespace {

Tensor<double> stack_rows(const std::vector<PreparedClient>& clients) {
    const auto first = clients.front().training->shape().sizes();
    std::vector<Index> sizes(first.begin(), first.end());
    sizes[0] = 0;
    for (const auto& client : clients) sizes[0] += client.training->shape()[0];
    Tensor<double> all{Shape(std::move(sizes))};
    double* target = all.data();
    for (const auto& client : clients) {
        target = std::copy_n(client.training->data(), client.training->size(), target);
    }
    return all;
}

}  // namespace

SimulationResult reference_centralized(const ClientSource& source, SimulationOptions options) {
    const Job job = reference_job(source, options);
    SimulationRun run(source, options, job);
    auto& result = run.result;
    const auto clients = gather_clients(run);
    Features features;
    Traffic traffic;
    {
        const Stopwatch watch(result.seconds.server);
        report(options.progress, "decompose", 0, 1);
        const Tensor<double> all = stack_rows(clients);
        features = features_of(all.view(), reference_bonds(job, all.shape().order()));
        report(options.progress, "decompose", 1, 1);
    }
    run.refit_all(clients, features);
    for (const PreparedClient& client : clients) traffic.up(static_cast<double>(client.training->size()));
    traffic.down(static_cast<double>(features.train.parameters()), run.clients());
    traffic.store(result, run.clients());
    result.rounds = 2;
    result.features = std::move(features);
    return run.finish();
}

SimulationResult reference_local(const ClientSource& source, SimulationOptions options) {
    const Job job = reference_job(source, options);
    SimulationRun run(source, options, job);
    auto& result = run.result;
    const auto clients = gather_clients(run);
    std::vector<Features> features(clients.size());
    std::vector<PersonalFit> fits(clients.size());
    std::vector<Index> ranks;
    run.for_clients(
        "clients",
        [&](Index k) {
            const auto at = static_cast<std::size_t>(k);
            const auto x = clients[at].training->view();
            features[at] = features_of(x, reference_bonds(job, x.shape().order()));
            fits[at] = refit(clients[at].training->view(), features[at]);
        },
        [&](Index k) {
            const auto at = static_cast<std::size_t>(k);
            run.book(k, clients[at], fits[at], features[at]);
            const auto& own = features[at].train.ranks();
            ranks.resize(own.size(), 0);
            std::transform(own.begin(), own.end(), ranks.begin(), ranks.begin(),
                           [](Index a, Index b) { return std::max(a, b); });
            result.personal_ranks.push_back(own.front());
        });
    result.ranks = std::move(ranks);
    return run.finish();
}

}  // namespace couplet
