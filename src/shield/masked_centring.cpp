#include "couplet/shield/masked_centring.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <memory>
#include <optional>
#include <utility>

#include "couplet/consensus/graph_builders.hpp"
#include "couplet/core/error.hpp"

namespace couplet {
namespace {

constexpr int most_sums = 4;  // how large they are and the numbers, of the values and of their squares

std::unique_ptr<MaskedSums> open_sums(Index clients, const Job& job, const SumDemands& demands) {
    if (job.network == Network::star) return std::make_unique<StarSums>(clients, demands, most_sums);
    return std::make_unique<PeerSums>(make_graph(job.graph, clients, job.seed), demands);
}

/// What one client adds to the sums of the features.
struct Part {
    std::vector<double> values;
    /// How large what a value was summed up from is: its digits count down to a part of that. Zero where any error
    /// will do.
    std::vector<double> magnitudes;
};

/// Powers of two: no magnitude exceeds 2^top, and none but zero is below 2^bottom.
struct Range {
    int top = 0;
    int bottom = 0;
};

/// Magnitudes in classes of so many doublings, of all doubles.
constexpr int doublings = 16;
constexpr int lowest = -1088;
constexpr std::size_t classes = 2 * 1088 / doublings;

std::size_t class_of(double magnitude) {
    return static_cast<std::size_t>((std::ilogb(magnitude) - lowest) / doublings);
}

/// Where a client's largest and its smallest magnitude lie: a one in the class of each.
std::vector<std::uint64_t> range_counts(const Part& part) {
    std::vector<std::uint64_t> counts(2 * classes, 0);
    double largest = 0;
    double smallest = HUGE_VAL;
    for (std::size_t i = 0; i < part.values.size(); ++i) {
        largest = std::max({largest, std::abs(part.values[i]), part.magnitudes[i]});
        if (part.magnitudes[i] > 0) smallest = std::min(smallest, part.magnitudes[i]);
    }
    if (largest > 0) ++counts[class_of(largest)];
    if (largest > 0 && smallest < HUGE_VAL) ++counts[classes + class_of(smallest)];
    return counts;
}

/// Of all clients together; nothing where all are zero.
std::optional<Range> agreed_range(std::span<const std::uint64_t> counts) {
    const auto any = [](std::uint64_t count) { return count > 0; };
    const auto tops = counts.first(classes);
    const auto bottoms = counts.subspan(classes, classes);
    const auto top = std::find_if(tops.rbegin(), tops.rend(), any);
    const auto bottom = std::find_if(bottoms.begin(), bottoms.end(), any);
    if (top == tops.rend() || bottom == bottoms.end()) return std::nullopt;
    const auto power = [](std::ptrdiff_t place) { return lowest + doublings * static_cast<int>(place); };
    return Range{power(tops.rend() - top), power(bottom - bottoms.begin())};
}

/// Numbers as several words each, of so many bits, the highest first: as many as it takes until the smallest magnitude
/// has its digits, so that features in different units, as different as platelets a litre and mol a litre, are each
/// known to their last ones. Steps are powers of two, so that what a word leaves to the next is exact.
class Words {
  public:
    static constexpr int bits = 40;
    static constexpr int digits = 56;             // of a magnitude; a double has 53
    static constexpr int smallest_power = -1060;  // steps are no smaller, and numbers still

    Words(const Range& range, std::size_t parties)
        : top_(range.top),
          count_(static_cast<std::size_t>(
              (std::min(range.top - range.bottom + digits, range.top - smallest_power) + bits - 1) / bits)),
          ring_(bits + 2 + static_cast<int>(std::bit_width(parties))) {}

    double step(std::size_t word) const { return std::ldexp(1.0, top_ - bits * static_cast<int>(word + 1)); }
    double last_step() const { return step(count_ - 1); }
    FixedPoint how(std::size_t word) const { return {step(word), ring_}; }

    std::vector<std::uint64_t> encoded(std::vector<double> numbers) const {
        std::vector<std::uint64_t> result;
        for (std::size_t word = 0; word < count_; ++word) {
            const double bound = word == 0 ? std::ldexp(1.0, top_) : step(word - 1);
            const auto integers = encode_fixed(numbers, how(word), bound);
            const auto rounded = decode_fixed(integers, how(word));
            for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] -= rounded[i];
            result.insert(result.end(), integers.begin(), integers.end());
        }
        return result;
    }
    std::vector<double> decoded(std::span<const std::uint64_t> sums) const {
        const std::size_t width = sums.size() / count_;
        std::vector<double> result(width);
        for (std::size_t word = count_; word-- > 0;) {  // the smallest first
            const auto part = decode_fixed(sums.subspan(word * width, width), how(word));
            for (std::size_t i = 0; i < width; ++i) result[i] += part[i];
        }
        return result;
    }

  private:
    int top_;
    std::size_t count_;
    Ring ring_;
};

struct Total {
    std::vector<double> values;
    double step = 0;  ///< to which every client's part was rounded
};

/// Adds up masked numbers after counts of how large they are. `counted`: what is added up beside these counts, and
/// replaced by its sum.
Total add_masked(MaskedSums& sums, const std::vector<Part>& parts, std::vector<std::uint64_t>* counted = nullptr) {
    std::vector<std::vector<std::uint64_t>> counts;
    for (std::size_t k = 0; k < parts.size(); ++k) {
        counts.push_back(range_counts(parts[k]));
        if (counted != nullptr) counts.back().push_back((*counted)[k]);
    }
    const auto all = sums.add(std::move(counts), {1, Ring(48)});
    if (counted != nullptr) *counted = {all.back()};
    const auto range = agreed_range(all);
    if (!range) return {std::vector<double>(parts.front().values.size(), 0.0)};
    const Words words(*range, parts.size());
    std::vector<std::vector<std::uint64_t>> integers;
    for (const Part& part : parts) integers.push_back(words.encoded(part.values));
    return {words.decoded(sums.add(std::move(integers), words.how(0))), words.last_step()};
}

Part sums_of(const TensorView<const double>& x) {
    Tensor<double> sizes = Tensor<double>::copy(x);
    for (double& value : sizes.elements()) value = std::abs(value);
    return {feature_sums(x, {.centre = true}).sum, feature_sums(sizes.view(), {.centre = true}).sum};
}

/// Squares about the mean of all. What the rounding of the mean may be is a constant, which is not known any better.
Part squares_of(const TensorView<const double>& x, const std::vector<double>& mean) {
    Part part;
    part.values = sum_squares(x, mean);
    part.magnitudes = part.values;
    for (std::size_t i = 0; i < mean.size(); ++i) {
        const double lost = mean_rounding(mean[i]);
        if (part.values[i] <= static_cast<double>(x.shape()[0]) * lost * lost) part.magnitudes[i] = 0;
    }
    return part;
}

}  // namespace

MaskedCentring masked_feature_sums(const std::vector<TensorView<const double>>& clients, const CentringOptions& options,
                                   const Job& job, const SumDemands& demands) {
    const auto sums = open_sums(static_cast<Index>(clients.size()), job, demands);
    MaskedCentring result;
    std::vector<std::uint64_t> patients;
    for (const auto& x : clients) patients.push_back(static_cast<std::uint64_t>(x.shape()[0]));
    std::vector<double> mean;
    if (options.sums()) {
        std::vector<Part> parts;
        for (const auto& x : clients) parts.push_back(sums_of(x));
        result.sums.sum = add_masked(*sums, parts, &patients).values;
        result.sums.patients = static_cast<Index>(patients.front());
        mean = centring_of(result.sums, {.centre = true}).mean;
    }
    if (options.scale) {
        std::vector<Part> parts;
        for (const auto& x : clients) parts.push_back(squares_of(x, mean));
        Total squares = add_masked(*sums, parts, options.centre ? nullptr : &patients);
        if (!options.centre) result.sums.patients = static_cast<Index>(patients.front());
        // A square that rounding has made negative is none.
        for (double& square : squares.values) square = std::max(0.0, square);
        result.sums.square = std::move(squares.values);
        result.sums.resolution = static_cast<double>(clients.size()) * squares.step;
    }
    result.traffic = sums->traffic();
    return result;
}

}  // namespace couplet
