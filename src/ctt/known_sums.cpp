#include "couplet/ctt/known_sums.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "couplet/core/error.hpp"

namespace couplet {

void KnownSums::add(const KnownSums& other) {
    if (count.empty()) {
        *this = other;
        return;
    }
    if (count.size() != other.count.size()) {
        throw InputError({"sums", std::to_string(other.count.size()) + " features", std::to_string(count.size()), ""});
    }
    for (std::size_t i = 0; i < count.size(); ++i) {
        const double here = count[i];
        const double there = other.count[i];
        if (here > 0 && there > 0) {
            // Chan, Golub and LeVeque 1979.
            const double apart = other.sum[i] / there - sum[i] / here;
            square[i] += apart * apart * (here * there / (here + there));
        }
        count[i] += there;
        sum[i] += other.sum[i];
        square[i] += other.square[i];
    }
}

KnownSums known_sums(const TensorView<const double>& x) {
    const auto width = static_cast<std::size_t>(x.shape().product(1, x.shape().order()));
    std::vector<long double> sum(width);
    std::vector<long double> square(width);
    KnownSums sums{std::vector<double>(width), {}, {}};
    const auto each = [&](auto visit) {
        const double* value = x.data();
        for (Index p = 0; p < x.shape()[0]; ++p) {
            for (std::size_t i = 0; i < width; ++i, ++value) {
                if (!std::isnan(*value)) visit(static_cast<long double>(*value), i);
            }
        }
    };
    each([&](long double value, std::size_t i) {
        sum[i] += value;
        sums.count[i] += 1;
    });
    each([&](long double value, std::size_t i) {
        const long double left = value - sum[i] / static_cast<long double>(sums.count[i]);
        square[i] += left * left;
    });
    sums.sum.assign(sum.begin(), sum.end());
    sums.square.assign(square.begin(), square.end());
    return sums;
}

Centring centring_of(const KnownSums& sums, const CentringOptions& options) {
    Centring result;
    for (std::size_t i = 0; i < sums.count.size(); ++i) {
        const double count = std::max(1.0, sums.count[i]);
        const double mean = sums.sum[i] / count;
        if (options.centre) result.mean.push_back(mean);
        if (!options.scale) continue;
        // What the rounding of a few hundred clients' means leaves of a constant.
        const double lost = 8 * std::numeric_limits<double>::epsilon() * std::abs(mean);
        const double variance = sums.square[i] / count + (options.centre ? 0 : mean * mean);
        result.scale.push_back(variance <= lost * lost ? 1 : std::sqrt(variance));
    }
    return result;
}

LargestPart largest_part(const KnownSums& sums) {
    const double all = std::accumulate(sums.square.begin(), sums.square.end(), 0.0);
    if (!(all > 0)) return {};
    const auto most = std::max_element(sums.square.begin(), sums.square.end());
    return {most - sums.square.begin(), *most / all};
}

}  // namespace couplet
