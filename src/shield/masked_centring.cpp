#include "couplet/shield/masked_centring.hpp"

#include <algorithm>
#include <bit>
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

/// Numbers as several words each, of so many bits, the highest first: features in different units, as different as
/// platelets a litre and mol a litre, are each known to their last digits although all have one bound. Steps are powers
/// of two, so that what a word leaves to the next is exact.
class Words {
  public:
    static constexpr int count = 4;
    static constexpr int bits = 40;

    /// For numbers of at most this magnitude from so many parties.
    Words(double bound, std::size_t parties)
        : bound_(std::exp2(std::ceil(std::log2(bound)))), ring_(bits + 2 + static_cast<int>(std::bit_width(parties))) {}

    double step(int word) const { return std::ldexp(bound_, -bits * (word + 1)); }
    FixedPoint how(int word) const { return {step(word), ring_}; }

    std::vector<std::uint64_t> encoded(std::vector<double> numbers) const {
        std::vector<std::uint64_t> result;
        for (int word = 0; word < count; ++word) {
            const auto integers = encode_fixed(numbers, how(word), word == 0 ? bound_ : step(word - 1));
            const auto rounded = decode_fixed(integers, how(word));
            for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] -= rounded[i];
            result.insert(result.end(), integers.begin(), integers.end());
        }
        return result;
    }
    std::vector<double> decoded(std::span<const std::uint64_t> sums) const {
        const std::size_t width = sums.size() / count;
        std::vector<double> result(width);
        for (int word = count; word-- > 0;) {  // the smallest first
            const auto part = decode_fixed(sums.subspan(static_cast<std::size_t>(word) * width, width), how(word));
            for (std::size_t i = 0; i < width; ++i) result[i] += part[i];
        }
        return result;
    }

  private:
    double bound_;
    Ring ring_;
};

std::vector<double> add_masked(MaskedSums& sums, const Parts& parts, double bound) {
    const Words words(bound, parts.size());
    std::vector<std::vector<std::uint64_t>> integers;
    for (const auto& part : parts) integers.push_back(words.encoded(part));
    return words.decoded(sums.add(std::move(integers), words.how(0)));
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
    // No entry of a record is longer than the record, and no mean either.
    std::vector<double> mean;
    if (options.centre) {
        Parts own;
        for (const auto& x : clients) own.push_back(feature_sums(x, {.centre = true}).sum);
        result.sums.sum = add_masked(*sums, own, patients * longest);
        mean = centring_of(result.sums, {.centre = true}).mean;
    }
    if (options.scale) {
        const double bound = 4 * patients * longest * longest;
        Parts squares;
        for (const auto& x : clients) squares.push_back(sum_squares(x, mean));
        result.sums.square = add_masked(*sums, squares, bound);
        // A square that rounding has made negative is none.
        for (double& square : result.sums.square) square = std::max(0.0, square);
        result.sums.resolution =
            static_cast<double>(clients.size()) * Words(bound, clients.size()).step(Words::count - 1);
    }
    result.traffic = sums->traffic();
    return result;
}

}  // namespace couplet
