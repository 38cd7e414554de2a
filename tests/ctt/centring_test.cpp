#include "couplet/ctt/centring.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "couplet/core/error.hpp"
#include "couplet/core/random.hpp"

namespace couplet {
namespace {

Tensor<double> patients(Index count, std::uint64_t seed) {
    Tensor<double> x(Shape{count, 3, 2});
    Random random(seed);
    for (Index i = 0; i < x.size(); ++i) x.data()[i] = static_cast<double>(i % 6) * (1 + random.normal()) + 100;
    for (Index p = 0; p < count; ++p) x.data()[p * 6] = 7;  // a constant
    return x;
}

TEST(CentringTest, SumsOfClientsAreThoseOfAll) {
    const Tensor<double> x = patients(30, 1);
    FeatureSums sums;
    sums.add(feature_sums(x.view().rows(0, 11)));
    sums.add(feature_sums(x.view().rows(11, 19)));
    const FeatureSums all = feature_sums(x.view());
    EXPECT_EQ(sums.patients, 30);
    for (std::size_t i = 0; i < 6; ++i) {
        EXPECT_NEAR(sums.sum[i], all.sum[i], 1e-9 * std::abs(all.sum[i]));
        EXPECT_NEAR(sums.square[i], all.square[i], 1e-9 * all.square[i]);
    }
    EXPECT_THROW(sums.add(FeatureSums{1, {1}, {1}}), InputError);
}

TEST(CentringTest, MeansBecomeZeroAndDeviationsOne) {
    const Tensor<double> x = patients(500, 2);
    const Centring centring = centring_of(feature_sums(x.view()), true, true);
    const Tensor<double> y = centred(x.view(), centring, "x");
    const FeatureSums after = feature_sums(y.view());
    EXPECT_EQ(centring.scale[0], 1);
    for (std::size_t i = 0; i < 6; ++i) {
        EXPECT_NEAR(after.sum[i] / 500, 0, 1e-9);
        if (i == 0) continue;
        EXPECT_NEAR(after.square[i] / 500, 1, 1e-9);
    }
    const Tensor<double> back = restored(y.view(), centring, "x");
    for (Index i = 0; i < x.size(); ++i) EXPECT_NEAR(back.data()[i], x.data()[i], 1e-9);
}

TEST(CentringTest, EachAloneAndNeither) {
    const Tensor<double> x = patients(50, 3);
    const FeatureSums sums = feature_sums(x.view());
    EXPECT_TRUE(centring_of(sums, true, false).scale.empty());
    const Centring scale = centring_of(sums, false, true);
    EXPECT_TRUE(scale.mean.empty());
    EXPECT_NEAR(scale.scale[0], 7, 1e-9);  // around zero
    EXPECT_TRUE(centring_of(sums, false, false).empty());
    const Tensor<double> same = centred(x.view(), {}, "x");
    EXPECT_TRUE(std::equal(same.elements().begin(), same.elements().end(), x.elements().begin()));
    EXPECT_THROW(centred(x.view(), {.mean = {1, 2}}, "x"), InputError);
    EXPECT_THROW(restored(x.view(), {.scale = {1, 2}}, "x"), InputError);
}

}  // namespace
}  // namespace couplet
