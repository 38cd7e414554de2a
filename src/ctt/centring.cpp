#include "couplet/ctt/centring.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "couplet/core/error.hpp"
#include "release_gate.hpp"

namespace couplet {

double mean_rounding(double mean) noexcept { return 8 * std::numeric_limits<double>::epsilon() * std::abs(mean); }

namespace {

/// What is left of a value; of a constant nothing, not the rounding of its mean.
double about(double value, double mean) {
    const double left = value - mean;
    return std::abs(left) <= mean_rounding(mean) ? 0 : left;
}

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

std::vector<ModeMap> maps_of(const Shape& shape, const Centring& centring, const std::string& where) {
    const auto sizes = shape.sizes();
    return mode_maps(centring.mean, Shape(std::vector<Index>(sizes.begin() + 1, sizes.end())), centring.any_at,
                     centring.weight, centring.patients, where);
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
    if (patients == 0) {
        *this = other;
        return;
    }
    if (sum.size() != other.sum.size() || square.size() != other.square.size()) {
        throw InputError({"sums", std::to_string(std::max(other.sum.size(), other.square.size())) + " features",
                          std::to_string(std::max(sum.size(), square.size())), ""});
    }
    if (other.patients == 0) return;
    const auto here = static_cast<double>(patients);
    const auto there = static_cast<double>(other.patients);
    for (std::size_t i = 0; i < square.size(); ++i) {
        // Chan, Golub and LeVeque 1979.
        const double apart = sum.empty() ? 0 : other.sum[i] / there - sum[i] / here;
        square[i] += other.square[i] + apart * apart * (here * there / (here + there));
    }
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += other.sum[i];
    patients += other.patients;
}

namespace {

/// Sums of change(x, i) over the patients, in more digits than travel.
template <class Change>
std::vector<long double> summed(const TensorView<const double>& x, Change change) {
    std::vector<long double> sum(static_cast<std::size_t>(x.shape().product(1, x.shape().order())));
    const double* value = x.data();
    for (Index p = 0; p < x.shape()[0]; ++p) {
        for (std::size_t i = 0; i < sum.size(); ++i, ++value) sum[i] += change(static_cast<long double>(*value), i);
    }
    return sum;
}

template <class Mean>
std::vector<double> squares_about(const TensorView<const double>& x, const std::vector<Mean>& mean) {
    const auto sums = summed(x, [&](long double value, std::size_t i) {
        const long double left = mean.empty() ? value : value - mean[i];
        return left * left;
    });
    return {sums.begin(), sums.end()};
}

}  // namespace

FeatureSums feature_sums(const TensorView<const double>& x, const CentringOptions& options) {
    FeatureSums result{x.shape()[0]};
    std::vector<long double> mean;
    if (options.sums()) {
        const auto sum = summed(x, [](long double value, std::size_t) { return value; });
        result.sum.assign(sum.begin(), sum.end());
        const auto count = static_cast<long double>(std::max<Index>(1, x.shape()[0]));
        for (const long double all : sum) mean.push_back(all / count);
    }
    if (options.scale) result.square = squares_about(x, mean);
    return result;
}

std::vector<double> sum_squares(const TensorView<const double>& x, std::span<const double> mean) {
    return squares_about(x, std::vector<double>(mean.begin(), mean.end()));
}

Centring centring_of(const FeatureSums& sums, const CentringOptions& options) {
    Centring result{.weight = options.weight, .any_at = options.any_at};
    const double count = static_cast<double>(std::max<Index>(1, sums.patients));
    if (options.sums()) {
        for (const double sum : sums.sum) result.mean.push_back(sum / count);
    }
    if (result.weighted()) result.patients = sums.patients;
    if (!options.scale) return result;
    for (std::size_t i = 0; i < sums.square.size(); ++i) {
        const double lost = options.centre ? mean_rounding(result.mean[i]) : 0;
        const double variance = sums.square[i] / count;
        const bool constant = variance <= lost * lost + sums.resolution / count;
        result.scale.push_back(constant ? 1 : std::sqrt(variance));
    }
    return result;
}

Tensor<double> centred(const TensorView<const double>& x, const Centring& centring, const std::string& where) {
    const Index width = width_of(x, centring, where);
    if (centring.weighted()) return weighted(x, maps_of(x.shape(), centring, where));
    return changed(x, width, [&](double value, std::size_t i) {
        if (!centring.mean.empty()) value = about(value, centring.mean[i]);
        return centring.scale.empty() ? value : value / centring.scale[i];
    });
}

Tensor<double> restored(const TensorView<const double>& x, const Centring& centring, const std::string& where) {
    const Index width = width_of(x, centring, where);
    if (centring.weighted()) return unweighted(x, maps_of(x.shape(), centring, where));
    return changed(x, width, [&](double value, std::size_t i) {
        if (!centring.scale.empty()) value *= centring.scale[i];
        return centring.mean.empty() ? value : value + centring.mean[i];
    });
}

Index sums_length(Index features, const CentringOptions& options) {
    return 1 + features * ((options.sums() ? 1 : 0) + (options.scale ? 1 : 0));
}

Released<std::vector<double>> release_sums(const FeatureSums& sums) {
    std::vector<double> numbers{static_cast<double>(sums.patients)};
    numbers.insert(numbers.end(), sums.sum.begin(), sums.sum.end());
    numbers.insert(numbers.end(), sums.square.begin(), sums.square.end());
    return ReleaseGate::release(std::move(numbers));
}

namespace {

// Sums are of as many numbers as a client has patients, in whatever order.
constexpr double rounding = 1 + 1e-6;

void require_possible(const FeatureSums& sums, const CentredParty& party, const std::string& who) {
    const auto refuse = [&](const char* what) {
        throw InputError({who, what, "sums over the data that it joined with", "Use the couplet client as it is."});
    };
    // Squares of anything larger could not be added up.
    constexpr double largest_norm2 = 1e150;
    const double most = rounding * party.norm2.value_or(largest_norm2) + std::numeric_limits<double>::min();
    const auto rows = static_cast<double>(party.rows);
    double squares = 0;
    for (std::size_t i = 0; i < static_cast<std::size_t>(party.features); ++i) {
        const double square = sums.square.empty() ? 0 : sums.square[i];
        if (!(square >= 0) || square > most) refuse("a sum of squares that its data cannot have");
        // Of numbers with this mean; written so that nothing overflows.
        const double length = sums.sum.empty() ? 0 : std::abs(sums.sum[i]) / std::sqrt(rows);
        if (!(length <= std::sqrt(most))) refuse("a sum that its data cannot have");
        squares += square + length * length;
    }
    if (squares > most) refuse("sums of squares that its data cannot have");
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
    FeatureSums sums{party.rows};
    auto rest = numbers.subspan(1);
    for (auto [wanted, part] : {std::pair{options.sums(), &sums.sum}, std::pair{options.scale, &sums.square}}) {
        if (!wanted) continue;
        part->assign(rest.begin(), rest.begin() + static_cast<std::ptrdiff_t>(width));
        rest = rest.subspan(width);
    }
    require_possible(sums, party, who);
    return sums;
}

Released<std::vector<double>> release_norm2(double norm2) { return ReleaseGate::release(std::vector<double>{norm2}); }

}  // namespace couplet
