#include "couplet/sim/gain.hpp"

#include <utility>

#include "couplet/sim/simulate.hpp"

namespace couplet {
namespace {

/// What somebody learns by itself: a decomposition of all its rows at once.
Features learn_alone(std::shared_ptr<const Tensor<double>> rows, const JobOptions& job) {
    JobOptions own;
    own.rank = job.rank;
    own.eps = job.eps;
    if (!job.eps) {
        own.eps1 = 0;
        own.eps2 = job.eps2;
    }
    own.precision = Precision::f64;
    own.seed = job.seed;
    std::vector<std::shared_ptr<const Tensor<double>>> clients{std::move(rows)};
    SimulationResult result = simulate(MemorySource::sharing(std::move(clients)), {.job = own});
    return std::move(*result.features);
}

std::shared_ptr<const Tensor<double>> moved(const std::shared_ptr<const Tensor<double>>& x, const Centring& by) {
    return std::make_shared<const Tensor<double>>(centred(x->view(), by, "client"));
}

/// A client's rows about its own means instead of the federation's, in the units of the job: what is learnt in other
/// units would be judged by a measure that it was not made for.
PreparedClient about_own_means(const PreparedClient& client) {
    const CentringOptions means{.centre = true};
    const Centring own = centring_of(feature_sums(client.training->view(), means), means);
    PreparedClient result{client.schema, moved(client.training, own), nullptr, client.scale};
    if (client.heldout) result.heldout = moved(client.heldout, own);
    return result;
}

double error_alone(const PreparedClient& client, const JobOptions& job) {
    return heldout_error(client, learn_alone(client.training, job)).error2;
}

}  // namespace

std::optional<ClientGain> gain_of(const PreparedClient& client, const JobOptions& job, const Features& features,
                                  const Centring& centring) {
    const HeldOutError together = heldout_error(client, features);
    if (!(together.norm2 > 0)) return std::nullopt;
    // Prevalences that only the federation knows help the site alone as well: it is not made to look worse.
    const bool as_it_is = centring.mean.empty() || centring.weighted();
    const double alone = error_alone(as_it_is ? client : about_own_means(client), job);
    return ClientGain{alone / together.norm2, together.error2 / together.norm2};
}

std::vector<std::optional<ClientGain>> measure_gain(const ClientSource& source, const JobOptions& job,
                                                    const Preparation& how, const Schema& schema,
                                                    const Features& features, const Centring& centring) {
    std::vector<std::optional<ClientGain>> gains;
    for (Index k = 0; k < source.clients(); ++k) {
        const std::string who = "client " + std::to_string(k + 1);
        PreparedClient client = prepare_client(source.client(k), how, job.seed, k);
        follow_schema(client, schema, job.unnamed, who);
        gains.push_back(gain_of(client, job, features, centring));
    }
    return gains;
}

}  // namespace couplet
