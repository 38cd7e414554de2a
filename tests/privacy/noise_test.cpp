#include "couplet/privacy/noise.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <vector>

#include "couplet/core/error.hpp"
#include "couplet/privacy/discrete_gaussian.hpp"

namespace couplet {
namespace {

TEST(PlanNoise, PutsTheWholeWhereItBelongs) {
    const PrivacyGuarantee one{1, 1e-5};
    const auto local = plan_noise(one, 2, 1, NoisePlace::local, 9, 9);
    EXPECT_NEAR(local.sigma, 4 * 3.73, 0.02);
    EXPECT_DOUBLE_EQ(local.own, local.sigma);
    EXPECT_DOUBLE_EQ(local.in_sum, 3 * local.sigma);
    const auto central = plan_noise(one, 2, 1, NoisePlace::central, 9, 9);
    EXPECT_EQ(central.own, 0);
    EXPECT_DOUBLE_EQ(central.in_sum, central.sigma);
    // Five survive, one of them tells its part: the other four make the whole.
    const auto distributed = plan_noise(one, 2, 1, NoisePlace::distributed, 9, 5, 1);
    EXPECT_DOUBLE_EQ(distributed.own * 2, distributed.sigma);
    EXPECT_DOUBLE_EQ(distributed.in_sum, 1.5 * distributed.sigma);
    EXPECT_NEAR(plan_noise(one, 1, 2, NoisePlace::central, 3, 3).sigma, 5.28, 0.005);
}

TEST(PlanNoise, RefusesWhatProtectsNobody) {
    EXPECT_THROW(plan_noise({1, 1e-5}, 0, 1, NoisePlace::local, 3, 3), InputError);
    EXPECT_THROW(plan_noise({1, 1e-5}, 1, 1, NoisePlace::distributed, 5, 2, 2), InputError);
    EXPECT_THROW(plan_noise({1, 1e-5}, 1, 1, NoisePlace::distributed, 5, 6, 0), InputError);
}

TEST(ExpectedLoss, IsSmallForManyPeopleAndHopelessForFew) {
    const auto plan = plan_noise({1, 1e-5}, 3, 1, NoisePlace::central, 4, 4);
    EXPECT_LT(expected_loss(plan, 500'000, 480, 10, {}), 0.01);
    EXPECT_EQ(expected_loss(plan, 1000, 480, 10, {}), 1);
    EXPECT_LT(expected_loss(plan, 500'000, 480, 10, 20), expected_loss(plan, 500'000, 480, 10, {}));
}

TEST(ExpectedLoss, SaysHowManyPatientsItTakes) {
    const auto plan = plan_noise({1, 1e-5}, 3, 1, NoisePlace::central, 4, 4);
    const double needed = patients_for_loss(plan, 0.01, 480, 10, {});
    EXPECT_NEAR(expected_loss(plan, std::llround(needed), 480, 10, {}), 0.01, 1e-6);
}

TEST(NoiseCost, FollowsTheNormsThatRecordsHave) {
    const auto plan = plan_noise({1, 1e-5}, 100, 1, NoisePlace::central, 4, 4);
    const double at_the_clip = 1e6 * 100 * 100;
    EXPECT_NEAR(noise_cost(plan, {at_the_clip, 9}, 9, 2, {}), expected_loss(plan, 1'000'000, 9, 2, {}), 1e-4);
    // A hundredth of the norm is a ten-thousandth of the energy.
    EXPECT_GT(noise_cost(plan, {at_the_clip / 100, 9}, 9, 2, {}), 90 * expected_loss(plan, 1'000'000, 9, 2, {}));
    EXPECT_EQ(noise_cost(plan, {at_the_clip / 1e4, 9}, 9, 2, {}), 1);
    EXPECT_EQ(noise_cost(plan, {-3, 9}, 9, 2, {}), 1);
}

TEST(NoiseSource, OfRandomKeysDoesNotRepeat) {
    NoiseSource one(Secret::random());
    NoiseSource other(Secret::random());
    EXPECT_NE(one.word(), other.word());
}

TEST(NoiseSource, FollowsItsSeedAndStreamOverManyBlocks) {
    auto source = NoiseSource::repeatable(3, 4);
    auto again = NoiseSource::repeatable(3, 4);
    auto other = NoiseSource::repeatable(3, 5);
    std::set<std::uint64_t> seen;
    for (int i = 0; i < 10'000; ++i) {
        const std::uint64_t drawn = source.word();
        ASSERT_EQ(drawn, again.word());
        EXPECT_NE(drawn, other.word());
        seen.insert(drawn);
    }
    EXPECT_EQ(seen.size(), 10'000U);  // blocks are not repeated
}

TEST(NoiseVariance, IsInSquaredStepsAndCoversTheRounding) {
    const double exact = 8.0 / 0.01 * (8.0 / 0.01);
    EXPECT_GE(noise_variance(8, 0.01, 2, 1), exact);
    EXPECT_LT(static_cast<double>(noise_variance(8, 0.01, 2, 1)), exact * 1.01);
    // 10,000 numbers of a step of a quarter of what one record changes: rounding moves them by more than the record.
    EXPECT_GT(static_cast<double>(noise_variance(8, 1, 2, 10'000)), 64 * 150);
    EXPECT_THROW(noise_variance(1e-3, 1, 2, 1), InputError);
    EXPECT_THROW(noise_variance(1e9, 1, 2, 1), InputError);
}

TEST(AddNoise, WrapsAroundTheRing) {
    const Ring ring(12);
    std::vector<std::uint64_t> values(50'000, 0);
    auto source = NoiseSource::repeatable(1, 2);
    add_noise(values, ring, 100, source);
    double squares = 0;
    for (const std::uint64_t value : values) {
        ASSERT_LE(value, ring.largest());
        squares += static_cast<double>(ring.centred(value) * ring.centred(value));
    }
    EXPECT_NEAR(squares / 50'000, 100, 4);
}

/// The privacy loss that anybody can observe: the largest log ratio of the frequencies of "more than T" with and
/// without one person, over thresholds T, less what delta allows. It must not exceed epsilon by more than chance.
TEST(AddNoise, ObservedPrivacyLossStaysBelowEpsilon) {
    constexpr double epsilon = 1;
    constexpr double delta = 1e-3;
    const auto plan = plan_noise({epsilon, delta}, 1, 1, NoisePlace::central, 1, 1);
    constexpr int trials = 400'000;
    std::vector<double> with;
    std::vector<double> without;
    auto source = NoiseSource::repeatable(11, 0);
    constexpr double step = 0.01;
    const std::uint64_t variance = noise_variance(plan.sigma, step, 1, 1);
    for (int i = 0; i < trials; ++i) {
        // One person's clipped record adds at most 1 to a sum of squares.
        with.push_back(7 + 1 + step * static_cast<double>(discrete_gaussian(source, variance)));
        without.push_back(7 + step * static_cast<double>(discrete_gaussian(source, variance)));
    }
    std::sort(with.begin(), with.end());
    std::sort(without.begin(), without.end());
    const auto share_above = [](const std::vector<double>& sorted, double t) {
        return static_cast<double>(sorted.end() - std::upper_bound(sorted.begin(), sorted.end(), t)) / trials;
    };
    double worst = 0;
    for (double t = 0; t < 20; t += 0.05) {
        const double p = share_above(with, t);
        const double q = share_above(without, t);
        if (q * trials < 100) break;  // too few to say anything
        // Four standard errors in favour of the mechanism.
        const double low = p - 4 * std::sqrt(p / trials) - delta;
        const double high = q + 4 * std::sqrt(q / trials);
        if (low > 0) worst = std::max(worst, std::log(low / high));
    }
    EXPECT_GT(worst, 0.3);  // the test sees something
    EXPECT_LE(worst, epsilon);
    // Half of the noise would have been caught.
    double caught = 0;
    for (double t = 8; t < 14; t += 0.05) {
        const auto above = [&](double mean) { return 0.5 * std::erfc((t - mean) / (plan.sigma / 2) / std::sqrt(2)); };
        caught = std::max(caught, std::log((above(8) - delta) / above(7)));
    }
    EXPECT_GT(caught, epsilon);
}

}  // namespace
}  // namespace couplet
