#include "gain.hpp"

#include <utility>

#include "couplet/sim/simulate.hpp"

namespace couplet::cli {
namespace {

double ratio(const HeldOutError& error) { return error.norm2 > 0 ? error.error2 / error.norm2 : 0; }

/// What a client would learn by itself.
Features learn_alone(const PreparedClient& client, const JobOptions& job) {
    JobOptions own;
    own.rank = job.rank;
    own.eps = job.eps;
    own.eps1 = job.eps1;
    own.eps2 = job.eps2;
    own.seed = job.seed;
    std::vector<std::shared_ptr<const Tensor<double>>> rows{client.training};
    SimulationResult result = simulate(MemorySource::sharing(std::move(rows)), {.job = own});
    return std::move(*result.features);
}

}  // namespace

std::vector<ClientGain> measure_gain(const ClientSource& source, const JobOptions& job, const Preparation& how,
                                     const Schema& schema, const Features& features) {
    std::vector<ClientGain> gains;
    for (Index k = 0; k < source.clients(); ++k) {
        const std::string who = "client " + std::to_string(k + 1);
        PreparedClient client = prepare_client(source.client(k), how, job.seed, k);
        follow_schema(client, schema, job.unnamed, who);
        const double together = ratio(heldout_error(client, features));
        gains.push_back({ratio(heldout_error(client, learn_alone(client, job))), together});
    }
    return gains;
}

}  // namespace couplet::cli
