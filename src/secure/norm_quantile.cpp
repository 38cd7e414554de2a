#include "couplet/secure/norm_quantile.hpp"

#include <algorithm>
#include <cmath>

#include "couplet/privacy/clip.hpp"

namespace couplet {
namespace {

constexpr double per_doubling = 4;
constexpr double middle = norm_steps / 2;

/// The norm at a place among the classes; class i is from i to i + 1.
double norm_at(double place) { return std::exp2((place - middle) / per_doubling); }

double normal_cdf(double x) { return 0.5 * std::erfc(-x * M_SQRT1_2); }

double normal_quantile(double q) {
    double low = -9;
    double high = 9;
    for (int i = 0; i < 60; ++i) {
        const double half = (low + high) / 2;
        (normal_cdf(half) < q ? low : high) = half;
    }
    return high;
}

struct Bulk {
    double centre = middle;
    double spread = 1;
    double records = 0;
    double score = -1;
};

/// The normal distribution over places whose classes are most alike to the counts (matched filter).
Bulk fit_bulk(std::span<const double> counts) {
    Bulk best;
    for (const double spread : {0.5, 0.7, 1.0, 1.4, 2.0, 2.8, 4.0, 5.6, 8.0, 11.0}) {
        for (double centre = 0; centre <= static_cast<double>(counts.size()); centre += std::max(0.25, spread / 4)) {
            const auto first = static_cast<std::size_t>(std::max(0.0, std::floor(centre - 4 * spread)));
            const auto last = std::min(counts.size(), static_cast<std::size_t>(std::ceil(centre + 4 * spread)));
            double match = 0;
            double size = 0;
            for (std::size_t i = first; i < last; ++i) {
                const double at = static_cast<double>(i);
                const double part = normal_cdf((at + 1 - centre) / spread) - normal_cdf((at - centre) / spread);
                match += part * counts[i];
                size += part * part;
            }
            if (match <= 0 || size <= 0 || match * match / size <= best.score) continue;
            best = {centre, spread, match / size, match * match / size};
        }
    }
    return best;
}

/// Place below which a share q of the counts in the window lies.
double place_in_window(std::span<const double> counts, std::size_t first, std::size_t last, double q) {
    double total = 0;
    for (std::size_t i = first; i < last; ++i) total += std::max(0.0, counts[i]);
    double below = 0;
    for (std::size_t i = first; i < last; ++i) {
        const double here = std::max(0.0, counts[i]);
        if (below + here >= q * total && here > 0) return static_cast<double>(i) + (q * total - below) / here;
        below += here;
    }
    return static_cast<double>(last);
}

}  // namespace

std::vector<std::int64_t> count_norms(const TensorView<const double>& x) {
    std::vector<std::int64_t> counts(norm_steps, 0);
    for (const double norm : row_norms(x)) {
        if (!(norm > 0)) continue;
        const double place = std::floor(per_doubling * std::log2(norm) + middle);
        ++counts[static_cast<std::size_t>(std::clamp(place, 0.0, static_cast<double>(norm_steps - 1)))];
    }
    return counts;
}

double noisy_norm_quantile(std::span<const double> counts, double noise, double q) {
    const Bulk bulk = fit_bulk(counts);
    const double reach = 4 * bulk.spread + 1;
    const auto first = static_cast<std::size_t>(std::max(0.0, std::floor(bulk.centre - reach)));
    const auto last = std::min(counts.size(), static_cast<std::size_t>(std::ceil(bulk.centre + reach)));
    constexpr double clear = 0.03;  // of the records, that the noise may move the quantile by
    if (noise * std::sqrt(static_cast<double>(last - first)) <= clear * bulk.records) {
        return norm_at(place_in_window(counts, first, last, q));
    }
    return norm_at(bulk.centre + bulk.spread * normal_quantile(q));
}

}  // namespace couplet
