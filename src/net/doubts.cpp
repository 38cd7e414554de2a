#include "couplet/net/doubts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace couplet::net {
namespace {

constexpr double outlier2 = 1e6;  ///< of squared norms
constexpr double same_norm = 1e-6;
// What rounding does to an error that is measured, beside the bound and beside the data.
constexpr double beside_bound = 1e-6;
constexpr double beside_data = 1e-14;

double median(std::vector<double> values) {
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
}

}  // namespace

bool contradicts(double error2, double bound, double all_norm2) {
    return error2 > all_norm2 * (bound * bound * (1 + beside_bound) + beside_data);
}

std::vector<Doubt> norm_doubts(const std::vector<Claim>& claims) {
    std::vector<Doubt> doubts;
    for (std::size_t k = 0; k < claims.size(); ++k) {
        std::vector<double> others;
        for (std::size_t i = 0; i < claims.size(); ++i) {
            if (i != k && claims[i].norm2 > 0) others.push_back(claims[i].norm2);
        }
        if (others.empty() || claims[k].norm2 <= outlier2 * median(others)) continue;
        doubts.push_back({claims[k].client, fmt::format("a norm of {:.3g}, where the others have about {:.3g}",
                                                        std::sqrt(claims[k].norm2), std::sqrt(median(others)))});
    }
    return doubts;
}

std::vector<Doubt> report_doubts(const std::vector<Claim>& claims) {
    std::vector<Doubt> doubts;
    for (const Claim& claim : claims) {
        if (!claim.reported_norm2) continue;
        if (std::abs(*claim.reported_norm2 - claim.norm2) <= same_norm * claim.norm2) continue;
        doubts.push_back({claim.client, fmt::format("it reports a norm of {:.6g} and greeted with one of {:.6g}",
                                                    std::sqrt(*claim.reported_norm2), std::sqrt(claim.norm2))});
    }
    return doubts;
}

std::vector<Doubt> error_doubts(const std::vector<Claim>& claims, double bound) {
    std::vector<Doubt> doubts;
    double error2 = 0;
    double norm2 = 0;
    const Claim* largest = nullptr;
    for (const Claim& claim : claims) {
        norm2 += claim.norm2;
        if (!claim.error2) continue;
        error2 += *claim.error2;
        if (largest == nullptr || *claim.error2 > *largest->error2) largest = &claim;
    }
    if (!contradicts(error2, bound, norm2)) return doubts;
    for (const Claim& claim : claims) {
        if (!claim.error2) continue;
        if (&claim != largest && !contradicts(*claim.error2, bound, norm2)) continue;
        doubts.push_back(
            {claim.client, fmt::format("an error of {:.3g} of all norms together, where the bound is {:.3g}",
                                       std::sqrt(*claim.error2 / norm2), bound)});
    }
    return doubts;
}

}  // namespace couplet::net
