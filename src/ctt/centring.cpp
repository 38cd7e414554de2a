#include "couplet/ctt/centring.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "couplet/core/error.hpp"
#include "release_gate.hpp"

namespace couplet {
namespace {

/// Patients and features of a tensor that fits.
Index width_of(const TensorView<const double>& x, const Centring& centring, const std::string& where) {
    const Index width = x.shape().product(1, x.shape().order());
    for (const auto* part : {&centring.mean, &centring.scale}) {
        if (part->empty() || static_cast<Index>(part->size()) == width) continue;
        throw InputError(
            {where, std::to_string(width) + " features", std::to_string(part->size()) + ", as were centred", ""});
    }
    return width;
}

template <class Change>
Tensor<double> changed(const TensorView<const double>& x, Index width, Change change) {
    Tensor<double> result = Tensor<double>::copy(x);
    double* value = result.data();
    for (Index p = 0; p < x.shape()[0]; ++p) {
        for (Index i = 0; i < width; ++i, ++value) *value = change(*value, static_cast<std::size_t>(i));
    }
    return result;
}

}  // namespace

void FeatureSums::add(const FeatureSums& other) {
    if (sum.empty()) {
        sum.assign(other.sum.size(), 0);
        square.assign(other.square.size(), 0);
    }
    if (sum.size() != other.sum.size()) {
        throw InputError({"sums", std::to_string(other.sum.size()) + " features", std::to_string(sum.size()), ""});
    }
    patients += other.patients;
    for (std::size_t i = 0; i < sum.size(); ++i) {
        sum[i] += other.sum[i];
        square[i] += other.square[i];
    }
}

FeatureSums feature_sums(const TensorView<const double>& x) {
    const Index width = x.shape().product(1, x.shape().order());
    // Wider than what travels: of a feature that varies little its variance is the difference of two such sums.
    std::vector<long double> sum(static_cast<std::size_t>(width));
    std::vector<long double> square(static_cast<std::size_t>(width));
    const double* value = x.data();
    for (Index p = 0; p < x.shape()[0]; ++p) {
        for (std::size_t i = 0; i < sum.size(); ++i, ++value) {
            const long double wide = *value;
            sum[i] += wide;
            square[i] += wide * wide;
        }
    }
    return {x.shape()[0], {sum.begin(), sum.end()}, {square.begin(), square.end()}};
}

Centring centring_of(const FeatureSums& sums, const CentringOptions& options) {
    Centring result;
    const double count = static_cast<double>(std::max<Index>(1, sums.patients));
    if (options.centre) {
        for (const double sum : sums.sum) result.mean.push_back(sum / count);
    }
    if (!options.scale) return result;
    for (std::size_t i = 0; i < sums.sum.size(); ++i) {
        const long double mean = options.centre ? static_cast<long double>(sums.sum[i]) / count : 0;
        const auto variance = static_cast<double>(static_cast<long double>(sums.square[i]) / count - mean * mean);
        // The sums of a few hundred clients leave less than this of a constant's square: a deviation of 3e-7 of the
        // mean is told from none.
        const bool constant = variance <= 1e-13 * (sums.square[i] / count) + sums.resolution / count;
        result.scale.push_back(constant ? 1 : std::sqrt(variance));
    }
    return result;
}

Tensor<double> centred(const TensorView<const double>& x, const Centring& centring, const std::string& where) {
    const Index width = width_of(x, centring, where);
    return changed(x, width, [&](double value, std::size_t i) {
        if (!centring.mean.empty()) value -= centring.mean[i];
        return centring.scale.empty() ? value : value / centring.scale[i];
    });
}

Tensor<double> restored(const TensorView<const double>& x, const Centring& centring, const std::string& where) {
    const Index width = width_of(x, centring, where);
    return changed(x, width, [&](double value, std::size_t i) {
        if (!centring.scale.empty()) value *= centring.scale[i];
        return centring.mean.empty() ? value : value + centring.mean[i];
    });
}

Index sums_length(Index features, const CentringOptions& options) {
    return 1 + features * ((options.centre ? 1 : 0) + (options.scale ? 1 : 0));
}

Released<std::vector<double>> release_sums(const FeatureSums& sums, const CentringOptions& options) {
    std::vector<double> numbers{static_cast<double>(sums.patients)};
    if (options.centre) numbers.insert(numbers.end(), sums.sum.begin(), sums.sum.end());
    if (options.scale) numbers.insert(numbers.end(), sums.square.begin(), sums.square.end());
    return ReleaseGate::release(std::move(numbers));
}

namespace {

// Sums are of as many numbers as a client has patients, in whatever order.
constexpr double rounding = 1 + 1e-6;

void require_possible(const FeatureSums& sums, const CentringOptions& options, const CentredParty& party,
                      const std::string& who) {
    const auto refuse = [&](const char* what) {
        throw InputError({who, what, "sums over the data that it joined with", "Use the couplet client as it is."});
    };
    // Squares of anything larger could not be added up.
    constexpr double largest_norm2 = 1e150;
    const double most = rounding * party.norm2.value_or(largest_norm2) + std::numeric_limits<double>::min();
    const auto rows = static_cast<double>(party.rows);
    double squares = 0;
    for (std::size_t i = 0; i < sums.sum.size(); ++i) {
        const double square = options.scale ? sums.square[i] : most;
        if (!(square >= 0) || square > most) refuse("a sum of squares that its data cannot have");
        // Cauchy and Schwarz; written so that neither side overflows.
        const double limit = std::sqrt(rounding * rows) * std::sqrt(square) + std::numeric_limits<double>::min();
        if (!(std::abs(sums.sum[i]) <= limit)) refuse("a sum that its data cannot have");
        squares += square;
    }
    if (options.scale && squares > most) refuse("sums of squares that its data cannot have");
}

}  // namespace

FeatureSums arrived_sums(std::span<const double> numbers, const CentringOptions& options, const CentredParty& party,
                         const std::string& who) {
    if (static_cast<Index>(numbers.size()) != sums_length(party.features, options)) {
        throw InputError({who, std::to_string(numbers.size()) + " numbers",
                          std::to_string(sums_length(party.features, options)), ""});
    }
    if (numbers.front() != static_cast<double>(party.rows)) {
        throw InputError({who, "sums over another number of patients", std::to_string(party.rows) + " as it said",
                          "Use the couplet client as it is."});
    }
    const auto width = static_cast<std::size_t>(party.features);
    FeatureSums sums{party.rows, std::vector<double>(width), std::vector<double>(width)};
    auto rest = numbers.subspan(1);
    for (auto [wanted, part] : {std::pair{options.centre, &sums.sum}, std::pair{options.scale, &sums.square}}) {
        if (!wanted) continue;
        std::copy_n(rest.begin(), width, part->begin());
        rest = rest.subspan(width);
    }
    require_possible(sums, options, party, who);
    return sums;
}

Released<std::vector<double>> release_norm2(double norm2) { return ReleaseGate::release(std::vector<double>{norm2}); }

}  // namespace couplet
