#include "couplet/sim/simulate.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "couplet/core/error.hpp"
#include "couplet/core/random.hpp"
#include "couplet/core/threads.hpp"
#include "couplet/linalg/products.hpp"
#include "couplet/sim/run.hpp"

namespace couplet {
namespace {

/// Rows of x with these numbers, in order.
Tensor<double> take_rows(TensorView<const double> x, const std::vector<Index>& rows) {
    std::vector<Index> sizes(x.shape().sizes().begin(), x.shape().sizes().end());
    const Index width = x.size() / sizes[0];
    sizes[0] = static_cast<Index>(rows.size());
    Tensor<double> result{Shape(std::move(sizes))};
    for (std::size_t i = 0; i < rows.size(); ++i) {
        std::copy_n(x.data() + rows[i] * width, width, result.data() + static_cast<Index>(i) * width);
    }
    return result;
}

double ratio(double part, double whole) { return whole > 0 ? part / whole : 0; }

}  // namespace

HeldOut hold_out(TensorView<const double> x, double fraction, std::uint64_t seed, Index client) {
    const Index rows = x.shape()[0];
    // At least one patient must take part.
    const auto count = std::min(rows - 1, static_cast<Index>(std::llround(fraction * static_cast<double>(rows))));
    std::vector<Index> order(static_cast<std::size_t>(rows));
    std::iota(order.begin(), order.end(), Index{0});
    Random random(seed, 0x68656c64 + static_cast<std::uint64_t>(client));
    for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random.below(i)]);
    const auto middle = order.begin() + count;
    std::sort(order.begin(), middle);
    std::sort(middle, order.end());
    return {take_rows(x, {middle, order.end()}), take_rows(x, {order.begin(), middle})};
}

SimulationRun::SimulationRun(const ClientSource& source, SimulationOptions& options, const Job& job)
    : source_(source), options_(options), job_(job), client_seconds_(static_cast<std::size_t>(source.clients()), 0.0) {
    result_.job = job;
}

PreparedClient SimulationRun::prepare(Index k) const {
    PreparedClient client{source_.client(k), nullptr, 1};
    require_finite(client.training->view(), "client " + std::to_string(k + 1));
    if (options_.heldout > 0) {
        auto parts = hold_out(client.training->view(), options_.heldout, job_.seed, k);
        client.training = std::make_shared<const Tensor<double>>(std::move(parts.training));
        client.heldout = std::make_shared<const Tensor<double>>(std::move(parts.heldout));
    }
    if (options_.scale_clients) {
        const double norm = std::sqrt(squared_norm(client.training->view().unfold(1)));
        if (norm > 0) {
            client.scale = norm;
            auto scaled = Tensor<double>::copy(client.training->view());
            for (double& x : scaled.elements()) x /= norm;
            client.training = std::make_shared<const Tensor<double>>(std::move(scaled));
        }
    }
    return client;
}

void SimulationRun::for_clients(const char* phase, const std::function<void(Index)>& body,
                                const std::function<void(Index)>& in_order) {
    const Index total = clients();
    const Index batch = source_.resident() ? total : std::min<Index>(total, 32 * thread_count());
    for (Index first = 0; first < total; first += batch) {
        report(options_.progress, phase, first, total);
        const Index count = std::min(batch, total - first);
        parallel_for(count, [&](Index i) {
            const Stopwatch watch(client_seconds_[static_cast<std::size_t>(first + i)]);
            body(first + i);
        });
        for (Index i = 0; i < count; ++i) in_order(first + i);
    }
    report(options_.progress, phase, total, total);
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
    result_.rse_per_client.push_back(ratio(fit.error2, fit.norm2));
    const double scale2 = client.scale * client.scale;
    heldout_error2_ += heldout.error2 / scale2;
    heldout_norm2_ += heldout.norm2 / scale2;
    if (!options_.on_personal) return;
    auto personal = Matrix<double>::copy(fit.personal.view());
    for (Index i = 0; i < personal.size(); ++i) personal.data()[i] *= client.scale;
    options_.on_personal(k, personal);
}

SimulationResult SimulationRun::finish() {
    result_.rse = ratio(error2_, norm2_);
    if (options_.heldout > 0) result_.rse_heldout = ratio(heldout_error2_, heldout_norm2_);
    if (result_.features) {
        const auto& ranks = result_.features->train.ranks();
        result_.ranks.assign(ranks.begin(), ranks.end());
    }
    for (const double seconds : client_seconds_) {
        result_.seconds.clients_sum += seconds;
        result_.seconds.clients_max = std::max(result_.seconds.clients_max, seconds);
    }
    result_.seconds.total = std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
    return std::move(result_);
}

SimulationResult simulate(const ClientSource& source, SimulationOptions options) {
    const Job job = resolve_job(options.job);
    if (source.clients() < 1) {
        throw InputError({"clients", "none", "at least one client", "Name at least one tensor file."});
    }
    if (!(options.heldout >= 0 && options.heldout < 1)) {
        throw InputError({"--heldout", std::to_string(options.heldout), "a fraction with 0 <= heldout < 1", ""});
    }
    const bool merges = job.network == Network::star && job.aggregate == Aggregate::stack;
    if ((options.save_state || options.resume) && !merges) {
        throw InputError({options.resume ? "--resume" : "--save-state", "a job that does not merge",
                          "--network star with --aggregate stack", ""});
    }
    if (options.heldout > 0 && !job.refit) {
        throw InputError({"--heldout", "held-out patients without a refit", "--refit",
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
