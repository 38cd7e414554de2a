#include "couplet/secure/norm_quantile.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "couplet/core/random.hpp"
#include "couplet/privacy/clip.hpp"

namespace couplet {
namespace {

/// Records of one number each, their norms log-normal about `centre`.
Tensor<double> records(Index patients, double centre, double spread, std::uint64_t seed) {
    Random random(seed);
    Tensor<double> x({patients, 1});
    for (double& one : x.elements()) one = centre * std::exp(spread * random.normal());
    return x;
}

std::vector<double> noised(const Tensor<double>& x, double noise, std::uint64_t seed) {
    Random random(seed);
    std::vector<double> counts;
    for (const auto count : count_norms(x.view()))
        counts.push_back(static_cast<double>(count) + noise * random.normal());
    return counts;
}

TEST(CountNorms, PutsEveryRecordThatIsNotEmptyInOneClass) {
    Tensor<double> x({5, 2});
    const double values[] = {0, 0, 3, 4, 1e-300, 0, 1e300, 0, 1, 0};
    std::copy(std::begin(values), std::end(values), x.data());
    const auto counts = count_norms(x.view());
    EXPECT_EQ(counts.front(), 1);
    EXPECT_EQ(counts.back(), 1);
    EXPECT_EQ(counts[256], 1);  // norm 1
    EXPECT_EQ(counts[265], 1);  // norm 5, between 4 * 2^0.25 and 4 sqrt(2)
}

TEST(NoisyNormQuantile, IsCloseWithAndWithoutNoise) {
    for (const double centre : {1e-12, 1.0, 3e11}) {
        for (const double spread : {0.1, 0.5, 1.5}) {
            const auto x = records(2000, centre, spread, 1);
            const double truth = quantile(row_norms(x.view()), 0.8);
            for (const double noise : {0.0, 3.0, 40.0}) {
                const double found = noisy_norm_quantile(noised(x, noise, 2), noise, 0.8);
                EXPECT_LT(std::abs(std::log(found / truth)), noise == 0 ? 0.1 : 0.25 + 0.3 * spread)
                    << centre << " " << noise;
            }
        }
    }
}

TEST(NoisyNormQuantile, IsANumberForNothingAndForNoise) {
    EXPECT_GT(noisy_norm_quantile(std::vector<double>(norm_steps, 0.0), 0, 0.8), 0);
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        const double found = noisy_norm_quantile(noised(records(1, 1, 0.1, 1), 50, seed), 50, 0.8);
        EXPECT_GT(found, 0);
        EXPECT_TRUE(std::isfinite(found));
    }
}

}  // namespace
}  // namespace couplet
