#include "couplet/sim/complete.hpp"

#include <chrono>
#include <cmath>
#include <memory>
#include <utility>
#include <vector>

#include "couplet/core/error.hpp"
#include "couplet/core/threads.hpp"
#include "couplet/linalg/products.hpp"

namespace couplet {
namespace {

/// One client: what is known, and the tensor the federation sees.
struct Patchwork {
    std::shared_ptr<const Tensor<double>> known;  ///< NaN where it is not
    std::shared_ptr<Tensor<double>> filled;
    std::vector<Index> missing;  ///< positions
};

/// What one client's new model says about the known entries and changes in the others.
struct Step {
    double error2 = 0;   ///< known entries
    double known2 = 0;   ///< known entries
    double change2 = 0;  ///< filled entries
    double norm2 = 0;    ///< all, as filled now
};

class FilledSource : public ClientSource {
  public:
    explicit FilledSource(const std::vector<Patchwork>& clients) : clients_(clients) {}
    Index clients() const override { return static_cast<Index>(clients_.size()); }
    std::shared_ptr<const Tensor<double>> client(Index k) const override {
        return clients_[static_cast<std::size_t>(k)].filled;
    }
    bool resident() const override { return true; }

  private:
    const std::vector<Patchwork>& clients_;
};

/// Mean of the known entries of every column; 0 where there are none.
std::vector<double> known_means(MatrixView<const double> x) {
    std::vector<double> sums(static_cast<std::size_t>(x.cols), 0.0);
    std::vector<double> counts(sums.size(), 0.0);
    for (Index i = 0; i < x.rows; ++i) {
        for (Index j = 0; j < x.cols; ++j) {
            if (std::isnan(x(i, j))) continue;
            sums[static_cast<std::size_t>(j)] += x(i, j);
            counts[static_cast<std::size_t>(j)] += 1;
        }
    }
    for (std::size_t j = 0; j < sums.size(); ++j) sums[j] = counts[j] > 0 ? sums[j] / counts[j] : 0;
    return sums;
}

Patchwork fill_first(std::shared_ptr<const Tensor<double>> known) {
    Patchwork client{std::move(known), nullptr, {}};
    client.filled = std::make_shared<Tensor<double>>(Tensor<double>::copy(client.known->view()));
    const auto x = client.filled->view().unfold(std::min<Index>(1, client.known->shape().order()));
    const auto means = known_means(x);
    for (Index i = 0; i < x.rows; ++i) {
        const std::size_t before = client.missing.size();
        for (Index j = 0; j < x.cols; ++j) {
            if (!std::isnan(x(i, j))) continue;
            x(i, j) = means[static_cast<std::size_t>(j)];
            client.missing.push_back(i * x.cols + j);
        }
        // Of a patient without a single entry nothing is known: the mean would count as if it were data.
        if (static_cast<Index>(client.missing.size() - before) == x.cols) std::fill_n(x.row(i), x.cols, 0.0);
    }
    return client;
}

std::vector<Patchwork> fill_all(const ClientSource& source) {
    std::vector<Patchwork> clients(static_cast<std::size_t>(source.clients()));
    parallel_for(source.clients(),
                 [&](Index k) { clients[static_cast<std::size_t>(k)] = fill_first(source.client(k)); });
    return clients;
}

double part_missing(const std::vector<Patchwork>& clients) {
    double missing = 0;
    double all = 0;
    for (const Patchwork& client : clients) {
        missing += static_cast<double>(client.missing.size());
        all += static_cast<double>(client.filled->size());
    }
    return all > 0 ? missing / all : 0;
}

/// Replaces the filled values by the model's.
Step fill_again(Patchwork& client, const Tensor<double>& model) {
    Step step;
    for (Index i = 0; i < model.size(); ++i) {
        const double value = client.known->data()[i];
        if (std::isnan(value)) continue;
        const double error = value - model.data()[i];
        step.error2 += error * error;
        step.known2 += value * value;
    }
    step.norm2 = step.known2;
    for (const Index i : client.missing) {
        const double change = model.data()[i] - client.filled->data()[i];
        step.change2 += change * change;
        client.filled->data()[i] = model.data()[i];
        step.norm2 += model.data()[i] * model.data()[i];
    }
    return step;
}

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

void check(const CompletionOptions& options) {
    const SimulationOptions& how = options.simulation;
    const Job job = resolve_job(how.job);
    const auto refuse = [](const char* what, const char* found, const char* expected, const char* remedy) {
        throw InputError({what, found, expected, remedy});
    };
    if (!job.rank || job.eps) {
        refuse("--missing", "filled in without a rank alone", "--rank R, and no --eps",
               "A certified error would be that of invented values.");
    }
    if (how.heldout > 0) refuse("--heldout", "given with missing entries", "one or the other", "");
    if (how.dry_run) refuse("--dry-run", "given with missing entries", "one or the other", "");
    if (how.resume) refuse("--resume", "given with missing entries", "one or the other", "");
    if (how.save_state) refuse("--save-state", "given with missing entries", "one or the other", "");
    if (job.network == Network::decentralized && job.aggregate == Aggregate::average) {
        refuse("--aggregate", "average among peers, whose features differ from node to node",
               "stack or subspace with missing entries", "");
    }
    if (options.max_iterations < 1 || !(options.tolerance >= 0)) {
        refuse("completion", "no iterations or a negative tolerance", "at least one, and a tolerance >= 0", "");
    }
}

class Completion {
  public:
    Completion(const ClientSource& source, CompletionOptions& options)
        : options_(options), clients_(fill_all(source)), steps_(clients_.size()), personal_(clients_.size()) {}

    SimulationResult execute() {
        SimulationResult result = federate();
        MissingReport missing{part_missing(clients_), 1, fill(result)};
        while (missing.change > options_.tolerance && missing.iterations < options_.max_iterations) {
            report(options_.simulation.progress, "complete", missing.iterations, options_.max_iterations);
            SimulationResult next = federate();
            add_costs(next, result);
            result = std::move(next);
            ++missing.iterations;
            missing.change = fill(result);
        }
        report(options_.simulation.progress, "complete", 1, 1);
        conclude(result, missing);
        return result;
    }

  private:
    SimulationResult federate() {
        SimulationOptions how{.job = options_.simulation.job, .scale_clients = options_.simulation.scale_clients};
        how.on_personal = [&](Index k, const Matrix<double>& personal) {
            personal_[static_cast<std::size_t>(k)] = Matrix<double>::copy(personal.view());
        };
        return simulate(FilledSource(clients_), std::move(how));
    }

    Tensor<double> model(Index k, const Tensor<double>& features) const {
        const Matrix<double>& personal = personal_[static_cast<std::size_t>(k)];
        Tensor<double> x(clients_[static_cast<std::size_t>(k)].filled->shape());
        const MatrixView<const double> w(features.data(), personal.cols(), features.size() / personal.cols());
        multiply<double>(personal.view(), Op::none, w, Op::none, x.view().unfold(1));
        return x;
    }

    /// Fills all clients with the new model; returns the relative change.
    double fill(const SimulationResult& result) {
        const Tensor<double> features = result.features->train.full();
        parallel_for(static_cast<Index>(clients_.size()), [&](Index k) {
            steps_[static_cast<std::size_t>(k)] = fill_again(clients_[static_cast<std::size_t>(k)], model(k, features));
        });
        double change2 = 0;
        double norm2 = 0;
        for (const Step& step : steps_) {
            change2 += step.change2;
            norm2 += step.norm2;
        }
        return norm2 > 0 ? std::sqrt(change2 / norm2) : 0;
    }

    void conclude(SimulationResult& result, const MissingReport& missing) {
        double error2 = 0;
        double known2 = 0;
        result.rse_per_client.clear();
        for (const Step& step : steps_) {
            error2 += step.error2;
            known2 += step.known2;
            result.rse_per_client.push_back(step.known2 > 0 ? step.error2 / step.known2 : 0);
        }
        result.rse = known2 > 0 ? error2 / known2 : 0;
        result.rel_error_bound.reset();
        result.missing = missing;
        result.seconds.total = std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
        const Tensor<double> features = options_.on_model ? result.features->train.full() : Tensor<double>();
        for (Index k = 0; k < static_cast<Index>(clients_.size()); ++k) {
            if (options_.simulation.on_personal) {
                options_.simulation.on_personal(k, personal_[static_cast<std::size_t>(k)]);
            }
            if (options_.on_model) options_.on_model(k, model(k, features));
        }
    }

    CompletionOptions& options_;
    std::vector<Patchwork> clients_;
    std::vector<Step> steps_;
    std::vector<Matrix<double>> personal_;
    std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace

SimulationResult simulate_missing(const ClientSource& source, CompletionOptions options) {
    check(options);
    AlignedSource aligned = align_source(source, options.simulation.job.unnamed, options.simulation.schema);
    SimulationResult result = Completion(aligned.source, options).execute();
    result.schema = std::move(aligned.schema);
    result.reordered = std::move(aligned.reordered);
    return result;
}

}  // namespace couplet
