#include "couplet/ctt/centring.hpp"

#include <gtest/gtest.h>

#include <algorithm>
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

constexpr CentringOptions both{.centre = true, .scale = true};

TEST(CentringTest, NothingIsLeftOfAConstant) {
    // A tenth has no exact mean: what its rounding leaves would be all there is of the data.
    std::vector<Tensor<double>> sites;
    FeatureSums sums;
    for (const Index count : {7, 11, 3}) {
        Tensor<double> x(Shape{count, 2});
        for (Index p = 0; p < count; ++p) {
            x.data()[2 * p] = 0.1;
            x.data()[2 * p + 1] = 1e9 + 1e-3 * static_cast<double>(p);
        }
        sums.add(feature_sums(x.view(), {.centre = true}));
        sites.push_back(std::move(x));
    }
    const Centring centring = centring_of(sums, {.centre = true});
    for (const auto& x : sites) {
        const Tensor<double> left = centred(x.view(), centring, "x");
        for (Index p = 0; p < x.shape()[0]; ++p) {
            EXPECT_EQ(left.data()[2 * p], 0);
            EXPECT_NEAR(left.data()[2 * p + 1], x.data()[2 * p + 1] - centring.mean[1], 2e-6);
            EXPECT_NE(left.data()[2 * p + 1], 0);
        }
    }
}

TEST(CentringTest, SumsOfClientsAreThoseOfAll) {
    const Tensor<double> x = patients(30, 1);
    for (const CentringOptions& how : {both, CentringOptions{.centre = true}, CentringOptions{.scale = true}}) {
        FeatureSums sums;
        sums.add(feature_sums(x.view().rows(0, 11), how));
        sums.add(feature_sums(x.view().rows(11, 19), how));
        const FeatureSums all = feature_sums(x.view(), how);
        EXPECT_EQ(sums.patients, 30);
        ASSERT_EQ(sums.sum.size(), how.centre ? 6U : 0U);
        ASSERT_EQ(sums.square.size(), how.scale ? 6U : 0U);
        for (std::size_t i = 0; i < sums.sum.size(); ++i) {
            EXPECT_NEAR(sums.sum[i], all.sum[i], 1e-12 * std::abs(all.sum[i]));
        }
        for (std::size_t i = 0; i < sums.square.size(); ++i) {
            EXPECT_NEAR(sums.square[i], all.square[i], 1e-12 * all.square[i] + 1e-24);
        }
    }
    FeatureSums sums = feature_sums(x.view(), both);
    EXPECT_THROW(sums.add(FeatureSums{1, {1}, {1}}), InputError);
    EXPECT_THROW(sums.add(feature_sums(x.view(), {.centre = true})), InputError);
}

TEST(CentringTest, SquaresAreAboutTheMeansGiven) {
    Tensor<double> x(Shape{2, 2});
    std::ranges::copy(std::vector<double>{1, 10, 4, 20}, x.data());
    EXPECT_EQ(sum_squares(x.view(), {}), (std::vector<double>{17, 500}));
    EXPECT_EQ(sum_squares(x.view(), std::vector<double>{2, 15}), (std::vector<double>{5, 50}));
}

TEST(CentringTest, MeansBecomeZeroAndDeviationsOne) {
    const Tensor<double> x = patients(500, 2);
    const Centring centring = centring_of(feature_sums(x.view(), both), both);
    const Tensor<double> y = centred(x.view(), centring, "x");
    const FeatureSums after = feature_sums(y.view(), both);
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
    Random random(4);
    // Seconds since 1970, say: 3,000 of them beside 1.7e12 milliseconds.
    for (const auto& [mean, deviation] : {std::pair{1e6, 0.5}, {1.7e12, 3000.0}, {1e9, 1e-3}, {-1e8, 1.0}}) {
        Tensor<double> x(Shape{1000, 2});
        for (Index p = 0; p < 1000; ++p) {
            x.data()[2 * p] = mean + deviation * random.normal();
            x.data()[2 * p + 1] = mean / 3;
        }
        FeatureSums sums;
        for (const auto& [first, count] : {std::pair<Index, Index>{0, 1}, {1, 399}, {400, 600}}) {
            sums.add(feature_sums(x.view().rows(first, count), both));
        }
        const Centring centring = centring_of(sums, both);
        long double middle = 0;
        for (Index p = 0; p < 1000; ++p) middle += x.data()[2 * p] / 1000.0L;
        long double square = 0;
        for (Index p = 0; p < 1000; ++p) square += (x.data()[2 * p] - middle) * (x.data()[2 * p] - middle) / 1000;
        const auto expected = static_cast<double>(std::sqrt(square));
        EXPECT_NEAR(centring.scale[0], expected, 1e-6 * expected) << mean;
        EXPECT_EQ(centring.scale[1], 1) << mean;
    }
}

TEST(CentringTest, EachAloneAndNeither) {
    const Tensor<double> x = patients(50, 3);
    const auto centring = [&](const CentringOptions& how) { return centring_of(feature_sums(x.view(), how), how); };
    EXPECT_TRUE(centring({.centre = true}).scale.empty());
    const Centring scale = centring({.scale = true});
    EXPECT_TRUE(scale.mean.empty());
    EXPECT_NEAR(scale.scale[0], 7, 1e-9);  // around zero
    EXPECT_TRUE(centring({}).empty());
    const Tensor<double> same = centred(x.view(), {}, "x");
    EXPECT_TRUE(std::equal(same.elements().begin(), same.elements().end(), x.elements().begin()));
    EXPECT_THROW(centred(x.view(), {.mean = {1, 2}}, "x"), InputError);
    EXPECT_THROW(restored(x.view(), {.scale = {1, 2}}, "x"), InputError);
}

TEST(CentringTest, SumsTravelAndComeBack) {
    const Tensor<double> x = patients(20, 4);
    double norm2 = 0;
    for (const double value : x.elements()) norm2 += value * value;
    for (const CentringOptions& how : {CentringOptions{true, false}, {false, true}, {true, true}}) {
        const FeatureSums sums = feature_sums(x.view(), how);
        const auto told = release_sums(sums);
        EXPECT_EQ(static_cast<Index>(told->size()), sums_length(6, how));
        for (const auto& known : {std::optional<double>(norm2), std::optional<double>()}) {
            const FeatureSums back = arrived_sums(told.get(), how, {20, 6, known}, "client 1");
            EXPECT_EQ(back.patients, 20);
            EXPECT_EQ(back.sum, sums.sum);
            EXPECT_EQ(back.square, sums.square);
            EXPECT_EQ(centring_of(back, how), centring_of(sums, how));
        }
    }
    EXPECT_EQ(release_norm2(2.5).get(), (std::vector<double>{2.5}));
}

TEST(CentringTest, SumsThatNoDataHasAreRefused) {
    const CentredParty party{.rows = 4, .features = 2, .norm2 = 11.3};
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
    EXPECT_NE(refused({4, 7, -2, 3, 7}, both, party).find("a sum that its data cannot have"), std::string::npos);
    EXPECT_NE(refused({4, 1, 7}, {.centre = true}, party).find("a sum that its data"), std::string::npos);
    EXPECT_EQ(refused({4, 1, 1e70}, {.centre = true}, {.rows = 4, .features = 2}), "");
    EXPECT_NE(refused({4, 1, 1e80}, {.centre = true}, {.rows = 4, .features = 2}), "");
}

}  // namespace
}  // namespace couplet
