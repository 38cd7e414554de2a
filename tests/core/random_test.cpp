#include "couplet/core/random.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <set>

namespace couplet {
namespace {

std::vector<std::uint64_t> take(Random random, int count) {
    std::vector<std::uint64_t> values;
    for (int i = 0; i < count; ++i) values.push_back(random.next());
    return values;
}

TEST(Random, EqualSeedsAndStreamsGiveEqualSequences) {
    Random a(12345, 6);
    Random b(12345, 6);
    for (int i = 0; i < 1000; ++i) {
        ASSERT_EQ(a.next(), b.next());
        ASSERT_EQ(a.uniform(), b.uniform());
        ASSERT_EQ(a.normal(), b.normal());
        ASSERT_EQ(a.below(97), b.below(97));
    }
}

TEST(Random, SeedsAndStreamsDifferFromTheFirstNumber) {
    std::set<std::uint64_t> firsts;
    for (std::uint64_t seed = 0; seed < 32; ++seed) {
        for (std::uint64_t stream = 0; stream < 32; ++stream) firsts.insert(Random(seed, stream).next());
    }
    EXPECT_EQ(firsts.size(), 32U * 32U);
}

// Saved results depend on these: a change of the generator is a change of the product. The values come from a
// separate implementation of splitmix64 and xoshiro256++ with Python integers.
TEST(Random, FirstValuesArePinned) {
    EXPECT_EQ(take(Random(0), 3),
              (std::vector<std::uint64_t>{0x0c66cfe935bee824, 0xc42bc92356173752, 0x1ee199fde4053f1c}));
    EXPECT_EQ(take(Random(42), 3),
              (std::vector<std::uint64_t>{0x4ba2080f284625ff, 0xf05e64ff0b639e49, 0x4a5aee58f0e3505d}));
    EXPECT_EQ(take(Random(42, 7), 3),
              (std::vector<std::uint64_t>{0xf1add3c8e352e812, 0x4bb8a7695248a73a, 0xe3512c86b251dabc}));
    constexpr auto largest = std::numeric_limits<std::uint64_t>::max();
    EXPECT_EQ(take(Random(largest, largest), 3),
              (std::vector<std::uint64_t>{0x2c437ec825fb671c, 0xd6912f77c7459df8, 0x268c434e88a8b8ca}));
}

TEST(Random, FirstDrawsOfEachDistributionArePinned) {
    EXPECT_EQ(Random(42).uniform(), 0.2954411541943718);
    Random normals(42);
    EXPECT_DOUBLE_EQ(normals.normal(), -0.15106731364770673);
    EXPECT_DOUBLE_EQ(normals.normal(), 0.3241587459269336);
    Random digits(42);
    std::vector<std::uint64_t> drawn(8);
    std::generate(drawn.begin(), drawn.end(), [&] { return digits.below(10); });
    EXPECT_EQ(drawn, (std::vector<std::uint64_t>{7, 5, 5, 1, 4, 2, 9, 0}));
}

TEST(Random, CopiesContinueTheSequence) {
    Random original(3);
    original.normal();  // leaves a spare normal inside, which must travel along
    Random copy = original;
    for (int i = 0; i < 5; ++i) EXPECT_EQ(original.normal(), copy.normal());
}

struct Moments {
    double mean, variance, skewness, kurtosis;
};

template <class Draw>
Moments sample_moments(int count, Draw draw) {
    std::vector<double> x(static_cast<std::size_t>(count));
    double mean = 0;
    for (auto& value : x) mean += (value = draw());
    mean /= count;
    double m2 = 0;
    double m3 = 0;
    double m4 = 0;
    for (const double value : x) {
        const double d = value - mean;
        m2 += d * d / count;
        m3 += d * d * d / count;
        m4 += d * d * d * d / count;
    }
    return {mean, m2, m3 / std::pow(m2, 1.5), m4 / (m2 * m2)};
}

// Tolerances are 5 standard errors of each estimate for n = 200000: sqrt(1/n) for the mean of a standard
// normal, sqrt(2/n) for its variance, sqrt(6/n) for the skewness, sqrt(24/n) for the kurtosis.
TEST(Random, NormalHasTheMomentsOfAStandardNormal) {
    Random random(2024);
    constexpr int n = 200000;
    const Moments m = sample_moments(n, [&] { return random.normal(); });
    EXPECT_NEAR(m.mean, 0, 5 * std::sqrt(1.0 / n));
    EXPECT_NEAR(m.variance, 1, 5 * std::sqrt(2.0 / n));
    EXPECT_NEAR(m.skewness, 0, 5 * std::sqrt(6.0 / n));
    EXPECT_NEAR(m.kurtosis, 3, 5 * std::sqrt(24.0 / n));
}

TEST(Random, NeighbouringNormalsAreUncorrelated) {
    Random random(7);
    constexpr int n = 200000;
    double sum = 0;
    double previous = random.normal();
    for (int i = 0; i < n; ++i) {
        const double current = random.normal();
        sum += previous * current;
        previous = current;
    }
    EXPECT_NEAR(sum / n, 0, 5 * std::sqrt(1.0 / n));
}

TEST(Random, StreamsOfOneSeedAreUncorrelated) {
    constexpr int n = 100000;
    for (std::uint64_t stream = 1; stream <= 4; ++stream) {
        Random a(99, 0);
        Random b(99, stream);
        double sum = 0;
        for (int i = 0; i < n; ++i) sum += a.normal() * b.normal();
        EXPECT_NEAR(sum / n, 0, 5 * std::sqrt(1.0 / n)) << "stream " << stream;
    }
}

TEST(Random, UniformStaysInItsHalfOpenRangeWithTheRightMoments) {
    Random random(11);
    constexpr int n = 200000;
    double least = 1;
    double most = 0;
    const Moments m = sample_moments(n, [&] {
        const double u = random.uniform();
        least = std::min(least, u);
        most = std::max(most, u);
        return u;
    });
    EXPECT_GE(least, 0);
    EXPECT_LT(most, 1);
    EXPECT_NEAR(m.mean, 0.5, 5 * std::sqrt(1.0 / 12 / n));
    EXPECT_NEAR(m.variance, 1.0 / 12, 5 * std::sqrt(1.0 / 180 / n));
}

// Chi-squared over the residues; 5 standard deviations, sqrt(2 (bound - 1)), above its mean bound - 1.
TEST(Random, BelowIsEven) {
    for (const std::uint64_t bound : {2U, 3U, 7U, 10U, 64U}) {
        Random random(bound);
        constexpr int n = 100000;
        std::vector<double> counts(bound, 0.0);
        for (int i = 0; i < n; ++i) {
            const std::uint64_t value = random.below(bound);
            ASSERT_LT(value, bound);
            counts[value] += 1;
        }
        const double expected = static_cast<double>(n) / static_cast<double>(bound);
        double chi_squared = 0;
        for (const double count : counts) chi_squared += (count - expected) * (count - expected) / expected;
        const auto freedom = static_cast<double>(bound - 1);
        EXPECT_LT(chi_squared, freedom + 5 * std::sqrt(2 * freedom)) << "bound " << bound;
    }
}

// With bound = 3 * 2^62 plain `next() % bound` would return a number below 2^62 half of the time instead of a
// third.
TEST(Random, BelowHasNoModuloBiasForLargeBounds) {
    Random random(5);
    constexpr std::uint64_t third = std::uint64_t{1} << 62;
    constexpr int n = 30000;
    int small = 0;
    for (int i = 0; i < n; ++i) small += random.below(3 * third) < third;
    EXPECT_NEAR(static_cast<double>(small) / n, 1.0 / 3, 5 * std::sqrt(2.0 / 9 / n));
}

TEST(Random, BelowOneIsAlwaysZero) {
    Random random(1);
    for (int i = 0; i < 100; ++i) ASSERT_EQ(random.below(1), 0U);
}

}  // namespace
}  // namespace couplet
