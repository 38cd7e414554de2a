#include "couplet/sim/complete.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "couplet/core/error.hpp"
#include "couplet/core/threads.hpp"
#include "couplet/ctt/message_bytes.hpp"
#include "couplet/linalg/products.hpp"
#include "couplet/sim/run.hpp"

namespace couplet {
namespace {

class FilledSource : public ClientSource {
  public:
    explicit FilledSource(const std::vector<std::optional<IncompleteClient>>& clients) : clients_(clients) {}
    Index clients() const override { return static_cast<Index>(clients_.size()); }
    std::shared_ptr<const Tensor<double>> client(Index k) const override {
        return clients_[static_cast<std::size_t>(k)]->filled();
    }
    bool resident() const override { return true; }

  private:
    const std::vector<std::optional<IncompleteClient>>& clients_;
};

/// The traffic of one more federation on top of those before.
void add_costs(SimulationResult& latest, const SimulationResult& before) {
    latest.rounds += before.rounds;
    latest.numbers_up_per_client += before.numbers_up_per_client;
    latest.numbers_down_per_client += before.numbers_down_per_client;
    latest.numbers_total += before.numbers_total;
    latest.bytes_up += before.bytes_up;
    latest.bytes_down += before.bytes_down;
    latest.seconds.clients_max += before.seconds.clients_max;
    latest.seconds.clients_sum += before.seconds.clients_sum;
    latest.seconds.server += before.seconds.server;
}

void check(const SimulationOptions& how, const Job& job) {
    const auto refuse = [](const char* what, const char* found, const char* expected, const char* remedy) {
        throw InputError({what, found, expected, remedy});
    };
    if (!job.rank || job.eps) {
        refuse("`missing`", "filled in without a rank alone", "`rank` R, and no `eps`",
               "A certified error would be that of invented values.");
    }
    if (how.heldout > 0) refuse("`heldout`", "given with missing entries", "one or the other", "");
    if (how.dry_run) refuse("`dry_run`", "given with missing entries", "one or the other", "");
    if (how.resume) refuse("`resume`", "given with missing entries", "one or the other", "");
    if (how.save_state) refuse("`save_state`", "given with missing entries", "one or the other", "");
    if (how.job.refit && !*how.job.refit) {
        refuse("`no_refit`", "given with missing entries", "a refit",
               "A personal core from before the exchange knows the entries that were invented.");
    }
    if (job.network == Network::decentralized && job.aggregate == Aggregate::average) {
        refuse("`aggregate`", "average among peers, whose features differ from node to node",
               "stack or subspace with missing entries", "");
    }
}

bool has_missing(const ClientSource& source) {
    std::vector<char> missing(static_cast<std::size_t>(source.clients()), 0);
    parallel_for(source.clients(), [&](Index k) {
        const auto x = source.client(k);
        const auto values = x->elements();
        missing[static_cast<std::size_t>(k)] =
            std::any_of(values.begin(), values.end(), [](double e) { return std::isnan(e); }) ? 1 : 0;
    });
    return std::find(missing.begin(), missing.end(), 1) != missing.end();
}

/// The printed method without a refit where there is nothing to fill: it stays what it is.
SimulationResult simulate_complete(const ClientSource& source, CompletionOptions& options) {
    std::vector<Matrix<double>> personal(static_cast<std::size_t>(source.clients()));
    const auto on_personal = std::move(options.simulation.on_personal);
    options.simulation.on_personal = [&](Index k, const Matrix<double>& core) {
        personal[static_cast<std::size_t>(k)] = Matrix<double>::copy(core.view());
        if (on_personal) on_personal(k, core);
    };
    SimulationResult result = simulate(source, std::move(options.simulation));
    result.missing = MissingReport{.iterations = 1, .settled = true};
    result.rel_error_bound.reset();
    if (!options.on_model) return result;
    const Tensor<double> features = result.features->train.full();
    for (Index k = 0; k < source.clients(); ++k) {
        const Matrix<double>& core = personal[static_cast<std::size_t>(k)];
        Tensor<double> x(source.client(k)->shape());
        const MatrixView<const double> w(features.data(), core.cols(), features.size() / core.cols());
        multiply<double>(core.view(), Op::none, w, Op::none, x.view().unfold(1));
        options.on_model(k, x);
    }
    return result;
}

class Completion {
  public:
    Completion(const ClientSource& source, CompletionOptions& options)
        : options_(options), course_(options.limits), clients_(static_cast<std::size_t>(source.clients())) {
        options_.simulation.job.refit = true;
        // What rounding changes from one federation to the next must stay below what counts as settled.
        options_.simulation.job.precision = Precision::f64;
        parallel_for(source.clients(), [&](Index k) {
            clients_[static_cast<std::size_t>(k)].emplace(
                *source.client(k), Preparation{options_.simulation.scale_clients}, options_.simulation.job.seed, k);
        });
    }

    SimulationResult execute() {
        std::optional<SimulationResult> result;
        do {
            report(options_.simulation.progress, "complete", static_cast<Index>(course_.history().size()),
                   options_.limits.max_iterations);
            SimulationResult next = federate();
            count_filling(next);
            if (result) add_costs(next, *result);
            result = std::move(next);
            course_.take(tell(*result, course_.filling()));
        } while (!course_.finished());
        report(options_.simulation.progress, "complete", 1, 1);
        conclude(*result);
        return std::move(*result);
    }

  private:
    /// Features of the tensors as they are filled; scaled already, and fitted by the clients themselves.
    SimulationResult federate() {
        return simulate(FilledSource(clients_), {.job = options_.simulation.job, .dry_run = true});
    }

    FillSums tell(SimulationResult& result, const Filling& filling) {
        std::vector<FillSums> sums(clients_.size());
        std::vector<double> seconds(clients_.size(), 0.0);
        parallel_for(static_cast<Index>(clients_.size()), [&](Index k) {
            const auto at = static_cast<std::size_t>(k);
            const Stopwatch watch(seconds[at]);
            sums[at] = clients_[at]->take(*result.features, filling);
        });
        for (const double s : seconds) result.seconds.clients_sum += s;
        result.seconds.clients_max += *std::max_element(seconds.begin(), seconds.end());
        FillSums all;
        for (const FillSums& one : sums) all.add(one);
        return all;
    }

    /// The features say how to fill, which simulate() does not know.
    void count_filling(SimulationResult& result) const {
        if (result.job.network != Network::star) return;
        FeaturesMessage message{result.features->clone(), {}};
        const Index plain = serialised_bytes(message);
        message.filling.emplace();
        result.bytes_down +=
            static_cast<double>(clients_.size()) * static_cast<double>(serialised_bytes(message) - plain);
    }

    void count_last(SimulationResult& result) const {
        const auto clients = static_cast<double>(clients_.size());
        if (result.job.network != Network::star) return;  // every peer has them
        const double numbers = static_cast<double>(result.features->train.parameters());
        result.rounds += 1;
        result.numbers_down_per_client += numbers;
        result.numbers_total += clients * numbers;
        // From the totals, which are whole: a sum of means would be rounded at every iteration.
        result.numbers_up_per_client = (result.numbers_total - clients * result.numbers_down_per_client) / clients;
        result.bytes_down +=
            clients * static_cast<double>(serialised_bytes(FeaturesMessage{result.features->clone(), {}, Filling{}}));
    }

    void conclude(SimulationResult& result) {
        const FillSums all = tell(result, course_.final_filling());
        count_last(result);
        result.rse = all.known2 > 0 ? all.error2 / all.known2 : 0;
        result.rse_per_client.clear();
        result.rel_error_bound.reset();
        result.missing = course_.report();
        for (Index k = 0; k < static_cast<Index>(clients_.size()); ++k) {
            const IncompleteClient& client = *clients_[static_cast<std::size_t>(k)];
            const PersonalFit fit = client.result();
            result.rse_per_client.push_back(fit.norm2 > 0 ? fit.error2 / fit.norm2 : 0);
            if (options_.simulation.on_personal) options_.simulation.on_personal(k, fit.personal);
            if (options_.on_model) options_.on_model(k, client.model(*result.features));
        }
        result.seconds.total = std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
    }

    CompletionOptions& options_;
    CompletionCourse course_;
    std::vector<std::optional<IncompleteClient>> clients_;
    std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace

SimulationResult simulate_missing(const ClientSource& source, CompletionOptions options) {
    const Job job = resolve_job(options.simulation.job);
    check(options.simulation, job);
    const CompletionCourse checked(options.limits);
    AlignedSource aligned = align_source(source, options.simulation.job.unnamed, options.simulation.schema);
    SimulationResult result = !job.refit && !has_missing(source) ? simulate_complete(aligned.source, options)
                                                                 : Completion(aligned.source, options).execute();
    result.schema = std::move(aligned.schema);
    result.reordered = std::move(aligned.reordered);
    return result;
}

UnknownParts find_unknown(const ClientSource& source, Unnamed unnamed, const std::optional<Schema>& given) {
    const AlignedSource aligned = align_source(source, unnamed, given);
    UnknownParts unknown;
    std::vector<char> known;
    for (Index k = 0; k < aligned.source.clients(); ++k) {
        const auto x = aligned.source.client(k);
        const auto rows = x->view().unfold(1);
        known.resize(static_cast<std::size_t>(rows.cols), 0);
        bool any = false;
        for (Index i = 0; i < rows.rows; ++i) {
            for (Index j = 0; j < rows.cols; ++j) {
                if (std::isnan(rows(i, j))) continue;
                any = true;
                known[static_cast<std::size_t>(j)] = 1;
            }
        }
        if (!any) unknown.clients.push_back(k);
    }
    unknown.features = std::count(known.begin(), known.end(), 0);
    return unknown;
}

}  // namespace couplet
