#include "couplet/sim/simulate.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "couplet/core/error.hpp"
#include "couplet/core/threads.hpp"
#include "couplet/ctt/refit.hpp"
#include "couplet/sim/run.hpp"

namespace couplet {
namespace {

double ratio(double part, double whole) { return whole > 0 ? part / whole : 0; }

}  // namespace

SimulationRun::SimulationRun(const ClientSource& clients_of, SimulationOptions& wishes, const Job& what)
    : source(clients_of),
      options(wishes),
      job(what),
      client_seconds(static_cast<std::size_t>(clients_of.clients()), 0.0) {
    result.job = job;
    if (options.resume) first_number_ += static_cast<Index>(options.resume->contributions.size());
    result.reordered.resize(static_cast<std::size_t>(source.clients()));
}

std::string SimulationRun::name(Index k) const {
    if (!options.names.empty()) return options.names[static_cast<std::size_t>(k)];
    // Whoever has no name is nobody who was merged before.
    return "client " + std::to_string(first_number_ + k);
}

Start SimulationRun::align_clients(const std::vector<Hello>& hellos,
                                   const std::function<PreparedClient&(Index)>& client) {
    Start start = start_job(job, hellos, options.schema);
    result.schema = {hellos.front().features, start.labels};
    for (Index k = 0; k < clients(); ++k) {
        result.reordered[static_cast<std::size_t>(k)] =
            follow_schema(client(k), result.schema, job.unnamed, "client " + std::to_string(k + 1));
    }
    return start;
}

PreparedClient SimulationRun::prepare(Index k) const {
    const Preparation how{options.scale_clients, options.heldout};
    return prepare_client(source.client(k), how, job.seed, k);
}

void SimulationRun::for_clients(const char* phase, const std::function<void(Index)>& body,
                                const std::function<void(Index)>& in_order) {
    const Index total = clients();
    const Index batch = source.resident() ? total : std::min<Index>(total, 32 * thread_count());
    for (Index first = 0; first < total; first += batch) {
        report(options.progress, phase, first, total);
        const Index count = std::min(batch, total - first);
        parallel_for(count, [&](Index i) {
            const Stopwatch watch(client_seconds[static_cast<std::size_t>(first + i)]);
            body(first + i);
        });
        for (Index i = 0; i < count; ++i) in_order(first + i);
    }
    report(options.progress, phase, total, total);
}

void SimulationRun::book(Index k, const PreparedClient& client, const PersonalFit& fit, const Features& features) {
    PersonalFit projected;
    if (client.heldout && client.heldout->size() > 0) projected = refit(client.heldout->view(), features);
    book(k, client, fit, projected);
}

void SimulationRun::book(Index k, const PreparedClient& client, const PersonalFit& fit, const PersonalFit& heldout) {
    // In the units of the job: the certified bound holds there, and only there can clients' squares be added up.
    error2_ += fit.error2;
    norm2_ += fit.norm2;
    result.rse_per_client.push_back(ratio(fit.error2, fit.norm2));
    heldout_error2_ += heldout.error2;
    heldout_norm2_ += heldout.norm2;
    if (options.on_personal) options.on_personal(k, scaled_back(fit.personal, client.scale));
}

void SimulationRun::refit_all(const std::vector<PreparedClient>& clients, const Features& features) {
    std::vector<PersonalFit> fits(clients.size());
    for_clients(
        "refit",
        [&](Index k) {
            const auto at = static_cast<std::size_t>(k);
            fits[at] = refit(clients[at].training->view(), features);
        },
        [&](Index k) {
            const auto at = static_cast<std::size_t>(k);
            book(k, clients[at], fits[at], features);
            result.personal_ranks.push_back(features.train.left_rank());
        });
}

SimulationResult SimulationRun::finish() {
    result.rse = ratio(error2_, norm2_);
    if (options.heldout > 0) result.rse_heldout = ratio(heldout_error2_, heldout_norm2_);
    if (result.features) {
        const auto& ranks = result.features->train.ranks();
        result.ranks.assign(ranks.begin(), ranks.end());
    }
    for (const double seconds : client_seconds) {
        result.seconds.clients_sum += seconds;
        result.seconds.clients_max = std::max(result.seconds.clients_max, seconds);
    }
    result.seconds.total = std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
    return std::move(result);
}

SimulationResult simulate(const ClientSource& source, SimulationOptions options) {
    const Job job = resolve_job(options.job);
    if (source.clients() < 1) {
        throw InputError({"clients", "none", "at least one client", "Name at least one tensor file."});
    }
    if (!(options.heldout >= 0 && options.heldout < 1)) {
        throw InputError({"`heldout`", std::to_string(options.heldout), "a fraction with 0 <= heldout < 1", ""});
    }
    const bool merges = job.network == Network::star && job.aggregate == Aggregate::stack;
    if ((options.save_state || options.resume) && !merges) {
        throw InputError({options.resume ? "`resume`" : "`save_state`", "a job that does not merge",
                          "`network` star with `aggregate` stack", ""});
    }
    if (options.heldout > 0 && !job.refit) {
        throw InputError({"`heldout`", "held-out patients without a refit", "`refit`",
                          "Without it there is no personal core for new patients."});
    }
    SimulationRun run(source, options, job);
    if (job.network == Network::star) {
        run_star(run);
    } else {
        run_peers(run);
    }
    return run.finish();
}

}  // namespace couplet
