#include "couplet/privacy/discrete_gaussian.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <map>
#include <vector>

#include "couplet/core/error.hpp"

namespace couplet {
namespace {

/// Probabilities of -most ... most, proportional to the weights.
std::map<std::int64_t, double> normalised(std::int64_t most, const std::function<double(double)>& weight) {
    std::map<std::int64_t, double> result;
    double sum = 0;
    for (std::int64_t k = -most; k <= most; ++k) sum += result[k] = weight(static_cast<double>(k));
    for (auto& [k, p] : result) p /= sum;
    return result;
}

/// Pearson's statistic against the exact probabilities, in standard deviations above its mean; rare values as one.
double excess_of_chi2(const std::map<std::int64_t, double>& exact, int draws,
                      const std::function<std::int64_t()>& draw) {
    std::map<std::int64_t, int> seen;
    for (int i = 0; i < draws; ++i) ++seen[draw()];
    double chi2 = 0;
    double rare = 0;
    int rare_seen = draws;
    int classes = 0;
    for (const auto& [k, p] : exact) {
        const double expected = p * draws;
        if (expected < 20) {
            rare += expected;
            continue;
        }
        const int count = seen[k];
        rare_seen -= count;
        chi2 += (count - expected) * (count - expected) / expected;
        ++classes;
    }
    if (rare >= 5) {
        chi2 += (rare_seen - rare) * (rare_seen - rare) / rare;
        ++classes;
    }
    const double freedom = classes - 1;
    return (chi2 - freedom) / std::sqrt(2 * freedom);
}

TEST(BernoulliExp, HasItsProbability) {
    auto source = NoiseSource::repeatable(1, 1);
    for (const auto& [numerator, denominator] :
         std::vector<std::pair<std::uint64_t, std::uint64_t>>{{0, 1}, {1, 1000}, {1, 2}, {1, 1}, {5, 2}, {7, 3}}) {
        constexpr int draws = 200'000;
        int hits = 0;
        for (int i = 0; i < draws; ++i) hits += bernoulli_exp(source, numerator, denominator);
        const double p = std::exp(-static_cast<double>(numerator) / static_cast<double>(denominator));
        EXPECT_NEAR(static_cast<double>(hits) / draws, p, 5 * std::sqrt(p * (1 - p) / draws)) << numerator;
    }
}

TEST(DiscreteLaplace, HasItsProbabilities) {
    auto source = NoiseSource::repeatable(2, 1);
    for (const std::uint64_t scale : {1, 3, 10}) {
        const auto exact = normalised(40 * static_cast<std::int64_t>(scale), [scale](double k) {
            return std::exp(-std::abs(k) / static_cast<double>(scale));
        });
        EXPECT_LT(excess_of_chi2(exact, 200'000, [&] { return discrete_laplace(source, scale); }), 5) << scale;
    }
}

TEST(DiscreteGaussian, HasItsProbabilities) {
    auto source = NoiseSource::repeatable(3, 1);
    for (const std::uint64_t variance : {1, 2, 9, 50, 400}) {
        const auto exact =
            normalised(400, [variance](double k) { return std::exp(-k * k / (2 * static_cast<double>(variance))); });
        EXPECT_LT(excess_of_chi2(exact, 200'000, [&] { return discrete_gaussian(source, variance); }), 5) << variance;
    }
}

/// A deviation that is wrong by 1% is seen by the test above.
TEST(DiscreteGaussian, TheTestSeesAWrongVariance) {
    auto source = NoiseSource::repeatable(3, 2);
    const auto wrong = normalised(400, [](double k) { return std::exp(-k * k / (2 * 51.0)); });
    EXPECT_GT(excess_of_chi2(wrong, 400'000, [&] { return discrete_gaussian(source, 50); }), 5);
}

TEST(DiscreteGaussian, IsOfTheRightSizeUpToItsLargestVariance) {
    auto source = NoiseSource::repeatable(4, 1);
    for (const std::uint64_t variance :
         {std::uint64_t{1} << 30, (std::uint64_t{1} << 40) + 12345, most_noise_variance}) {
        constexpr int draws = 40'000;
        double squares = 0;
        double fourth = 0;
        for (int i = 0; i < draws; ++i) {
            const double k = static_cast<double>(discrete_gaussian(source, variance));
            const double x2 = k * k / static_cast<double>(variance);
            squares += x2;
            fourth += x2 * x2;
        }
        EXPECT_NEAR(squares / draws, 1, 0.04);
        EXPECT_NEAR(fourth / draws, 3, 0.3);
    }
}

TEST(DiscreteGaussian, RefusesVariancesItCannotDraw) {
    auto source = NoiseSource::repeatable(5, 1);
    EXPECT_THROW(discrete_gaussian(source, 0), InputError);
    EXPECT_THROW(discrete_gaussian(source, most_noise_variance + 1), InputError);
}

/// What can be told from the integers themselves: delta = sum_k max(0, P(k) - e^eps P(k - shift)), exactly, is that of
/// the continuous Gaussian, also for the sum of several parts.
TEST(DiscreteGaussian, PromisesWhatTheContinuousOneDoes) {
    constexpr std::int64_t shift = 12;
    constexpr std::int64_t most = 1000;
    const auto part = normalised(most, [](double k) { return std::exp(-k * k / (2 * 36.0)); });
    std::map<std::int64_t, double> sum{{0, 1.0}};
    for (int parts = 0; parts < 3; ++parts) {
        std::map<std::int64_t, double> next;
        for (const auto& [a, p] : sum) {
            for (std::int64_t k = -60; k <= 60; ++k) next[a + k] += p * part.at(k);
        }
        sum = std::move(next);
    }
    const double sigma = std::sqrt(3 * 36.0);
    for (const double epsilon : {0.1, 0.5, 1.0, 2.0, 4.0}) {
        double delta = 0;
        for (const auto& [k, p] : sum) {
            const auto moved = sum.find(k - shift);
            delta += std::max(0.0, p - std::exp(epsilon) * (moved == sum.end() ? 0 : moved->second));
        }
        const double continuous = gaussian_delta(epsilon, sigma, static_cast<double>(shift));
        EXPECT_LE(delta, continuous * 1.005) << epsilon;
        EXPECT_GE(delta, continuous * 0.95) << epsilon;
    }
}

}  // namespace
}  // namespace couplet
