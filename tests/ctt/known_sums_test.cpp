#include "couplet/ctt/known_sums.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "couplet/core/error.hpp"
#include "couplet/core/random.hpp"

namespace couplet {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

/// Columns in units as different as platelets and creatinine, a constant, and one that nobody knows; a fifth are gaps.
Tensor<double> table(Index patients, std::uint64_t seed) {
    Tensor<double> x(Shape{patients, 4});
    Random random(seed);
    for (Index p = 0; p < patients; ++p) {
        double* row = x.data() + p * 4;
        row[0] = 250'000 + 60'000 * random.normal();
        row[1] = 0.9 + 0.2 * random.normal();
        row[2] = 7;
        row[3] = nan;
        for (Index i = 0; i < 3; ++i) {
            if (random.uniform() < 0.2) row[i] = nan;
        }
    }
    return x;
}

TEST(KnownSumsTest, SumsOfClientsAreThoseOfAll) {
    const Tensor<double> x = table(60, 1);
    KnownSums parts;
    parts.add(known_sums(x.view().rows(0, 7)));
    parts.add(known_sums(x.view().rows(7, 53)));
    const KnownSums all = known_sums(x.view());
    EXPECT_EQ(parts.count, all.count);
    for (std::size_t i = 0; i < 4; ++i) {
        EXPECT_NEAR(parts.sum[i], all.sum[i], 1e-12 * std::abs(all.sum[i]));
        EXPECT_NEAR(parts.square[i], all.square[i], 1e-10 * all.square[i] + 1e-20);
    }
    EXPECT_LT(all.count[0], 60);
    EXPECT_THROW(parts.add(known_sums(Tensor<double>(Shape{2, 3}).view())), InputError);
}

TEST(KnownSumsTest, WhatIsKnownHasMeanZeroAndDeviationOne) {
    const Tensor<double> x = table(200, 2);
    const CentringOptions both{.centre = true, .scale = true};
    const Centring centring = centring_of(known_sums(x.view()), both);
    const Tensor<double> y = centred(x.view(), centring, "x");
    const KnownSums moved = known_sums(y.view());
    for (std::size_t i = 0; i < 2; ++i) {
        EXPECT_NEAR(moved.sum[i] / moved.count[i], 0, 1e-9);
        EXPECT_NEAR(moved.square[i] / moved.count[i], 1, 1e-9);
    }
    for (Index i = 0; i < x.size(); ++i) EXPECT_EQ(std::isnan(x.data()[i]), std::isnan(y.data()[i]));
    EXPECT_EQ(centring.scale[2], 1) << "a constant";
    EXPECT_EQ(centring.mean[2], 7);
    EXPECT_EQ(centring.mean[3], 0) << "known of nobody";
    EXPECT_EQ(centring.scale[3], 1);
    // About zero where nothing is moved.
    const Centring scaled = centring_of(known_sums(x.view()), {.scale = true});
    EXPECT_TRUE(scaled.mean.empty());
    EXPECT_NEAR(scaled.scale[2], 7, 1e-12);
}

TEST(KnownSumsTest, OneColumnsUnitIsNearlyAllOfTheVariation) {
    const LargestPart part = largest_part(known_sums(table(100, 3).view()));
    EXPECT_EQ(part.feature, 0);
    EXPECT_GT(part.part, 0.999);
    EXPECT_EQ(largest_part(known_sums(Tensor<double>(Shape{0, 3}).view())).part, 0);
}

}  // namespace
}  // namespace couplet
