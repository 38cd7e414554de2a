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
    const Centring centring = centring_of(feature_sums(x.view()), {.centre = true, .scale = true});
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

TEST(CentringTest, WhatVariesLittleBesideItsMeanIsNoConstant) {
    Tensor<double> x(Shape{1000, 2});
    Random random(4);
    for (Index p = 0; p < 1000; ++p) {
        x.data()[2 * p] = 1e6 + 0.5 * random.normal();  // 5e-7 of its mean
        x.data()[2 * p + 1] = 1e6 / 3;
    }
    const Centring centring = centring_of(feature_sums(x.view()), {.centre = true, .scale = true});
    double square = 0;
    for (Index p = 0; p < 1000; ++p) square += std::pow(x.data()[2 * p] - centring.mean[0], 2) / 1000;
    EXPECT_NEAR(centring.scale[0], std::sqrt(square), 0.01 * std::sqrt(square));
    EXPECT_EQ(centring.scale[1], 1);
}

TEST(CentringTest, EachAloneAndNeither) {
    const Tensor<double> x = patients(50, 3);
    const FeatureSums sums = feature_sums(x.view());
    EXPECT_TRUE(centring_of(sums, {.centre = true}).scale.empty());
    const Centring scale = centring_of(sums, {.scale = true});
    EXPECT_TRUE(scale.mean.empty());
    EXPECT_NEAR(scale.scale[0], 7, 1e-9);  // around zero
    EXPECT_TRUE(centring_of(sums, {}).empty());
    const Tensor<double> same = centred(x.view(), {}, "x");
    EXPECT_TRUE(std::equal(same.elements().begin(), same.elements().end(), x.elements().begin()));
    EXPECT_THROW(centred(x.view(), {.mean = {1, 2}}, "x"), InputError);
    EXPECT_THROW(restored(x.view(), {.scale = {1, 2}}, "x"), InputError);
}

TEST(CentringTest, SumsTravelAndComeBack) {
    const Tensor<double> x = patients(20, 4);
    const FeatureSums sums = feature_sums(x.view());
    double norm2 = 0;
    for (const double value : x.elements()) norm2 += value * value;
    for (const CentringOptions& how : {CentringOptions{true, false}, {false, true}, {true, true}}) {
        const auto told = release_sums(sums, how);
        EXPECT_EQ(static_cast<Index>(told->size()), sums_length(6, how));
        for (const auto& known : {std::optional<double>(norm2), std::optional<double>()}) {
            const FeatureSums back = arrived_sums(told.get(), how, {20, 6, known}, "client 1");
            EXPECT_EQ(back.patients, 20);
            EXPECT_EQ(back.sum, how.centre ? sums.sum : std::vector<double>(6, 0));
            EXPECT_EQ(back.square, how.scale ? sums.square : std::vector<double>(6, 0));
            EXPECT_EQ(centring_of(back, how), centring_of(sums, how));
        }
    }
    EXPECT_EQ(release_norm2(2.5).get(), (std::vector<double>{2.5}));
}

TEST(CentringTest, SumsThatNoDataHasAreRefused) {
    const CentredParty party{.rows = 4, .features = 2, .norm2 = 10};
    const CentringOptions both{true, true};
    const auto refused = [](const std::vector<double>& numbers, const CentringOptions& how, const CentredParty& who) {
        try {
            arrived_sums(numbers, how, who, "client 1");
        } catch (const InputError& error) {
            return std::string(error.what());
        }
        return std::string();
    };
    EXPECT_EQ(refused({4, 1, -2, 3, 7}, both, party), "");
    EXPECT_NE(refused({3, 1, -2, 3, 7}, both, party).find("another number of patients"), std::string::npos);
    EXPECT_NE(refused({4, 1, -2, 3}, both, party).find("4 numbers"), std::string::npos);
    EXPECT_NE(refused({4, 1, -2, 3, -7}, both, party).find("a sum of squares"), std::string::npos);
    EXPECT_NE(refused({4, 1, -2, 3, 8}, both, party).find("sums of squares"), std::string::npos);
    EXPECT_NE(refused({4, 4, -2, 3, 7}, both, party).find("a sum that its data cannot have"), std::string::npos);
    EXPECT_NE(refused({4, 1, 7}, {.centre = true}, party).find("a sum that its data"), std::string::npos);
    EXPECT_EQ(refused({4, 1, 1e70}, {.centre = true}, {.rows = 4, .features = 2}), "");
    EXPECT_NE(refused({4, 1, 1e80}, {.centre = true}, {.rows = 4, .features = 2}), "");
}

}  // namespace
}  // namespace couplet
