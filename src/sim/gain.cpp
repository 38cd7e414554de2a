#include "couplet/sim/gain.hpp"

#include <utility>

#include "couplet/ctt/refit.hpp"
#include "couplet/linalg/products.hpp"
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

Tensor<double> times(const TensorView<const double>& x, double factor) {
    Tensor<double> result = Tensor<double>::copy(x);
    for (Index i = 0; i < result.size(); ++i) result.data()[i] *= factor;
    return result;
}

/// A client's data before the federation's centring, and what it would have done by itself.
class OwnUnits {
  public:
    OwnUnits(const PreparedClient& client, const Centring& centring) : client_(client), centring_(centring) {
        const CentringOptions parts{!centring.mean.empty(), !centring.scale.empty()};
        own_ = centring_of(feature_sums(original(*client.training).view(), parts), parts);
    }
    Tensor<double> of(const Tensor<double>& x) const {
        return times(centred(original(x).view(), own_, "client").view(), 1 / client_.scale);
    }
    /// How much larger feature i is in the units of the job.
    double ratio(std::size_t i) const { return own_.scale.empty() ? 1 : own_.scale[i] / centring_.scale[i]; }

  private:
    Tensor<double> original(const Tensor<double>& x) const {
        return restored(times(x.view(), client_.scale).view(), centring_, "client");
    }
    const PreparedClient& client_;
    const Centring& centring_;
    Centring own_;
};

/// ||(X - G W) D||^2, D the ratios of the units.
double error_in_job(const Tensor<double>& x, const Features& features, const OwnUnits& units) {
    const PersonalFit fit = refit(x.view(), features);
    const Tensor<double> shared = features.train.full();
    const Index width = x.size() / x.shape()[0];
    const MatrixView<const double> rows(shared.data(), features.train.left_rank(), width);
    const Matrix<double> told = product<double>(fit.personal.view(), rows);
    double sum = 0;
    for (Index p = 0; p < x.shape()[0]; ++p) {
        for (Index i = 0; i < width; ++i) {
            const double left = (x.data()[p * width + i] - told(p, i)) * units.ratio(static_cast<std::size_t>(i));
            sum += left * left;
        }
    }
    return sum;
}

double error_alone(const PreparedClient& client, const JobOptions& job, const Centring& centring) {
    if (centring.empty()) return heldout_error(client, learn_alone(client.training, job)).error2;
    const OwnUnits units(client, centring);
    const auto training = std::make_shared<Tensor<double>>(units.of(*client.training));
    return error_in_job(units.of(*client.heldout), learn_alone(training, job), units);
}

}  // namespace

std::optional<ClientGain> gain_of(const PreparedClient& client, const JobOptions& job, const Features& features,
                                  const Centring& centring) {
    const HeldOutError together = heldout_error(client, features);
    if (!(together.norm2 > 0)) return std::nullopt;
    return ClientGain{error_alone(client, job, centring) / together.norm2, together.error2 / together.norm2};
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
