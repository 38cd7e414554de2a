#include "cp_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "couplet/consensus/graph_builders.hpp"
#include "couplet/consensus/weights.hpp"
#include "couplet/core/error.hpp"
#include "couplet/core/threads.hpp"
#include "couplet/ctt/refit.hpp"
#include "couplet/ctt/star.hpp"

namespace couplet {
namespace {

// Fourth powers of the data are formed (the norm of one patient's gradient): these squared norms keep them in range.
constexpr double least_norm2 = 1e-140;
constexpr double most_norm2 = 1e140;
// A model a thousand times as large as what it models has left it behind: its RSE is near a million.
constexpr double most_growth2 = 1e6;

double ratio(double part, double whole) { return whole > 0 ? part / whole : 0; }

void require_range(double norm2, const std::vector<CpClient>& clients) {
    if (norm2 >= least_norm2 && norm2 <= most_norm2) return;
    const auto is_zero = [](const CpClient& client) { return client.objective->is_zero(); };
    if (norm2 == 0 && std::ranges::all_of(clients, is_zero)) return;
    throw InputError({"data", fmt::format("tensors with a norm of {:.3g} in all", std::sqrt(norm2)),
                      "a norm between 1e-70 and 1e70, or all zero", "Scale the data, or use `scale_clients` norm."});
}

/// ||M||^2 of the model, without forming it.
double squared_model(const Factors& factors) {
    const auto gamma = khatri_rao_gram(factors, -1);
    double sum = 0;
    for (Index i = 0; i < gamma.size(); ++i) sum += gamma.data()[i];
    return sum;
}

}  // namespace

Matrix<double> CpClient::descent(Index mode, double step, Index fibers, double ridge) {
    auto gradient = objective->gradient(factors, mode, fibers, random);
    const double length = gradient.curvature == 0 ? 0 : step / gradient.curvature;
    for (Index i = 0; i < gradient.value.size(); ++i) gradient.value.data()[i] *= length;
    if (ridge > 0) add_scaled(gradient.value, step * ridge, factors[static_cast<std::size_t>(mode)]);
    return std::move(gradient.value);
}

void CpClient::adopt(const Matrix<double>& personal, const Factors& shared) {
    factors[0] = Matrix<double>::copy(personal.view());
    for (std::size_t n = 1; n < factors.size(); ++n) factors[n] = Matrix<double>::copy(shared[n].view());
}

void CpClient::descend(Index mode, double step, Index fibers, double ridge) {
    add_scaled(factors[static_cast<std::size_t>(mode)], -1, descent(mode, step, fibers, ridge));
}

CpRun::CpRun(SimulationRun& run, Method method, const BaselineOptions& options, const Tuning& tuning, Index rank)
    : run_(run), method_(method), options_(options), tuning_(tuning), rank_(rank) {
    clients_.resize(static_cast<std::size_t>(run.clients()));
    std::vector<Hello> hellos(clients_.size());
    run.for_clients(
        "read",
        [&](Index k) {
            CpClient& client = clients_[static_cast<std::size_t>(k)];
            client.data = run.prepare(k);
            hellos[static_cast<std::size_t>(k)] = StarClient(run.job, client.data).hello();
            if (options.loss == Loss::logistic) require_zeros_and_ones(client.data.training->view(), k);
            client.random = Random(run.job.seed, client_stream + static_cast<std::uint64_t>(k));
        },
        [](Index) {});
    norm2_ = run.align_clients(hellos, [&](Index k) -> PreparedClient& { return client(k).data; }).norm2;
    each([&](Index k) { client(k).objective.emplace(client(k).data.training, options.loss); });
    require_range(norm2_, clients_);
    if (method == Method::dpfact && order() != 3) {
        throw InputError({"`method` dpfact", "tensors of order " + std::to_string(order()), "third order",
                          "The other methods take any order."});
    }
    if (network_of(method) == Network::decentralized) start_peers();
    start_ = std::chrono::steady_clock::now();
    each([&](Index k) {
        CpClient& c = client(k);
        c.weight = norm2_ > 0 ? c.objective->norm2() / norm2_ : 1 / static_cast<double>(clients());
        c.factors = random_shared_factors(c.objective->shape(), rank_, run_.job.seed);
        c.factors[0] = c.objective->best_personal(c.factors);
    });
}

void CpRun::start_peers() {
    if (clients() < 2) {
        throw InputError({"`method` " + std::string(to_string(method_)), "one client",
                          "at least two: peers need somebody to talk to", "Name more files, or use `split` K."});
    }
    graph_ = make_graph(run_.job.graph, clients(), run_.job.seed);
    weights_ = make_weights(run_.job.consensus.weights, graph_);
}

double CpRun::shared_numbers() const {
    double numbers = 0;
    const auto& factors = clients_.front().factors;
    for (std::size_t n = 1; n < factors.size(); ++n) numbers += static_cast<double>(factors[n].size());
    return numbers;
}

double CpRun::step(Index round) const { return *tuning_.step / (1 + *tuning_.decay * static_cast<double>(round)); }

void CpRun::each(const std::function<void(Index)>& body) {
    parallel_for(clients(), [&](Index k) {
        const Stopwatch watch(run_.client_seconds[static_cast<std::size_t>(k)]);
        body(k);
    });
}

void CpRun::serve(const std::function<void()>& body) {
    const Stopwatch watch(run_.result.seconds.server);
    body();
}

void CpRun::train(const std::function<void(Index)>& round) {
    result_.stopped = "rounds";
    report(run_.options.progress, "rounds", 0, options_.rounds);
    evaluate(0);
    while (rounds_ < options_.rounds) {
        round(rounds_++);
        check_diverged(rounds_);
        const bool last = rounds_ == options_.rounds;
        if (!last) report(run_.options.progress, "rounds", rounds_, options_.rounds);
        if (!last && rounds_ % options_.evaluate_every != 0) continue;
        if (evaluate(rounds_) && !last) {
            result_.stopped = "converged";
            break;
        }
    }
    report(run_.options.progress, "rounds", options_.rounds, options_.rounds);
    if (network_of(method_) == Network::decentralized) agree();
}

void CpRun::agree() {
    spread_ = disagreement();
    constexpr double rounding = 1e-12;
    if (spread_ <= rounding) return;
    for (Index message = 0; message < 2 * (clients() - 1); ++message) traffic_.up(shared_numbers());
    Factors mean = clone(clients_.front().factors);
    for (std::size_t n = 1; n < mean.size(); ++n) {
        for (Index k = 1; k < clients(); ++k) add_scaled(mean[n], 1, client(k).factors[n]);
        for (Index i = 0; i < mean[n].size(); ++i) mean[n].data()[i] /= static_cast<double>(clients());
    }
    for (CpClient& c : clients_) {
        for (std::size_t n = 1; n < mean.size(); ++n) c.factors[n] = Matrix<double>::copy(mean[n].view());
    }
    evaluate(rounds_);
}

bool CpRun::evaluate(Index round) {
    std::vector<CpFit> fits(clients_.size());
    // Not on the clients' clocks: whoever trains for a fixed number of rounds needs no error.
    parallel_for(clients(),
                 [&](Index k) { fits[static_cast<std::size_t>(k)] = client(k).objective->fit(client(k).factors); });
    CpFit sum;
    for (const CpFit& fit : fits) {
        sum.error2 += fit.error2;
        sum.objective += fit.objective;
    }
    if (!std::isfinite(sum.objective)) throw diverged(round, "an objective that is not finite");
    if (round > 0 && options_.tolerance > 0) count_evaluation();
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start_;
    result_.trace.push_back({round, ratio(sum.error2, norm2_), traffic_.numbers(), traffic_.bytes(), seconds.count()});
    const bool better = round == 0 || sum.objective < (1 - options_.tolerance) * best_objective_;
    if (better) best_objective_ = sum.objective;
    stale_ = better ? 0 : stale_ + 1;
    return options_.tolerance > 0 && stale_ >= options_.patience;
}

void CpRun::count_evaluation() {
    if (network_of(method_) == Network::star) {
        for (Index k = 0; k < clients(); ++k) traffic_.up(1);
        traffic_.down(1, clients());
        return;
    }
    for (Index message = 0; message < 2 * (clients() - 1); ++message) traffic_.up(1);
}

RunError CpRun::diverged(Index round, const std::string& how) const {
    const char* remedy = method_ == Method::trip ? "Try another `rho`; couplet tune finds one."
                                                 : "Try a smaller `step`; couplet tune finds one.";
    return RunError({std::string(to_string(method_)), fmt::format("diverged at round {}: {}", round, how),
                     "steps that converge", remedy});
}

void CpRun::check_diverged(Index round) const {
    double model2 = 0;
    for (const CpClient& c : clients_) model2 += squared_model(c.factors);
    double entries = 0;
    for (const CpClient& c : clients_) entries += static_cast<double>(c.objective->shape().size());
    // The logistic loss has no scale of its own: log-odds beyond a thousand are as wrong.
    const double scale2 = options_.loss == Loss::logistic ? entries : norm2_;
    if (!std::isfinite(model2)) throw diverged(round, "factors that are not finite");
    if (model2 <= most_growth2 * scale2) return;
    throw diverged(round, fmt::format("a model {:.3g} times as large as the data", std::sqrt(model2 / scale2)));
}

void CpRun::fit_clients() {
    const bool refits = run_.job.refit;
    std::vector<PersonalFit> fits(clients_.size());
    std::vector<std::optional<PersonalFit>> heldout(clients_.size());
    std::vector<Features> features(clients_.size());
    const auto fit_factors = [&](const CpObjective& objective, const Factors& shared, bool best) {
        Factors factors = clone(shared);
        if (best) factors[0] = objective.best_personal(factors);
        const double error2 = objective.fit(factors).error2;
        return PersonalFit{std::move(factors[0]), objective.norm2(), error2};
    };
    run_.for_clients(
        "refit",
        [&](Index k) {
            const auto at = static_cast<std::size_t>(k);
            CpClient& c = clients_[at];
            features[at] = {factor_train(c.factors), {}, false};
            if (options_.loss == Loss::square && refits) {
                features[at] = orthonormal_features(features[at].train);
                fits[at] = refit(c.data.training->view(), features[at]);
                return;
            }
            fits[at] = fit_factors(*c.objective, c.factors, refits);
            if (c.data.heldout && c.data.heldout->size() > 0) {
                heldout[at] = fit_factors(CpObjective(c.data.heldout, options_.loss), c.factors, true);
            }
        },
        [&](Index k) {
            const auto at = static_cast<std::size_t>(k);
            if (heldout[at]) {
                run_.book(k, clients_[at].data, fits[at], *heldout[at]);
            } else {
                run_.book(k, clients_[at].data, fits[at], features[at]);
            }
            run_.result.personal_ranks.push_back(features[at].train.left_rank());
        });
    run_.result.features = std::move(features.front());
}

double CpRun::disagreement() const {
    double spread2 = 0;
    double all2 = 0;
    for (std::size_t n = 1; n < clients_.front().factors.size(); ++n) {
        auto mean = Matrix<double>::zeros(clients_.front().factors[n].rows(), rank_);
        for (const CpClient& c : clients_) add_scaled(mean, 1 / static_cast<double>(clients()), c.factors[n]);
        for (const CpClient& c : clients_) {
            for (Index i = 0; i < mean.size(); ++i) {
                const double difference = c.factors[n].data()[i] - mean.data()[i];
                spread2 += difference * difference;
            }
            all2 += inner_product(c.factors[n], c.factors[n]);
        }
    }
    return std::sqrt(ratio(spread2, all2));
}

MethodResult CpRun::finish() {
    fit_clients();
    auto& result = run_.result;
    result.rounds = rounds_;
    if (network_of(method_) == Network::star) {
        traffic_.store(result, clients());
    } else {
        traffic_.store_links(result, 2 * static_cast<Index>(graph_.edges().size()));
        result.consensus = ConsensusReport{second_modulus(weights_.view()), rounds_, spread_};
    }
    result_.simulation = run_.finish();
    result_.tuning = tuning_;
    result_.privacy = privacy;
    return std::move(result_);
}

}  // namespace couplet
