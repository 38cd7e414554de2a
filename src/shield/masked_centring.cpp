#include "couplet/shield/masked_centring.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "couplet/consensus/graph_builders.hpp"
#include "couplet/core/error.hpp"
#include "couplet/secure/norm_histogram.hpp"

namespace couplet {
namespace {

using Parts = std::vector<std::vector<double>>;

std::unique_ptr<MaskedSums> open_sums(Index clients, const Job& job, const SumDemands& demands) {
    if (job.network == Network::star) return std::make_unique<StarSums>(clients, demands);
    return std::make_unique<PeerSums>(make_graph(job.graph, clients, job.seed), demands);
}

std::vector<double> add_masked(MaskedSums& sums, const Parts& parts, double bound) {
    const FixedPoint how = agree_fixed_point(bound, static_cast<std::int64_t>(parts.size()));
    std::vector<std::vector<std::uint64_t>> integers;
    for (const auto& part : parts) integers.push_back(encode_fixed(part, how, bound));
    return decode_fixed(sums.add(std::move(integers), how), how);
}

}  // namespace

MaskedCentring masked_feature_sums(const std::vector<TensorView<const double>>& clients, const CentringOptions& options,
                                   const Job& job, const SumDemands& demands) {
    const auto sums = open_sums(static_cast<Index>(clients.size()), job, demands);
    std::vector<std::vector<std::uint64_t>> norms;
    for (const auto& x : clients) {
        norms.push_back(norm_histogram(x));
        // A mean is over all patients, those with an empty record too, whom the histogram leaves out.
        norms.back().push_back(static_cast<std::uint64_t>(x.shape()[0]));
    }
    auto counts = sums->add(std::move(norms), {1, Ring(48)});
    MaskedCentring result;
    result.sums.patients = static_cast<Index>(counts.back());
    counts.pop_back();
    const double longest = std::max(histogram_quantile(counts, 1), 0x1.0p-250);
    const auto patients = static_cast<double>(std::max<Index>(1, result.sums.patients));
    Parts own;
    Parts squares;
    for (const auto& x : clients) {
        FeatureSums client = feature_sums(x);
        own.push_back(std::move(client.sum));
        squares.push_back(std::move(client.square));
    }
    // No entry of a record is longer than the record.
    const std::size_t width = own.front().size();
    result.sums.sum = options.centre ? add_masked(*sums, own, patients * longest) : std::vector<double>(width);
    result.sums.square =
        options.scale ? add_masked(*sums, squares, patients * longest * longest) : std::vector<double>(width);
    // The means' own steps come in too, with the length of a record: a few more bits than the ring's.
    result.sums.resolution = patients * longest * longest * 0x1.0p-46;
    // A square that rounding has made negative is none.
    for (double& square : result.sums.square) square = std::max(0.0, square);
    result.traffic = sums->traffic();
    return result;
}

}  // namespace couplet
