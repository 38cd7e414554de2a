#include "couplet/shield/masked_centring.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "couplet/core/error.hpp"
#include "couplet/core/random.hpp"

namespace couplet {
namespace {

std::vector<Tensor<double>> people(Index clients) {
    std::vector<Tensor<double>> all;
    Random random(3);
    for (Index k = 0; k < clients; ++k) {
        Tensor<double> x(Shape{9 + k, 3, 2});
        for (Index i = 0; i < x.size(); ++i) x.data()[i] = 40 + 10.0 * static_cast<double>(i % 6) + random.normal();
        all.push_back(std::move(x));
    }
    return all;
}

std::vector<TensorView<const double>> views(const std::vector<Tensor<double>>& all) {
    std::vector<TensorView<const double>> result;
    for (const auto& x : all) result.push_back(x.view());
    return result;
}

Job job_in(Network network) { return resolve_job({.network = network, .aggregate = Aggregate::subspace, .rank = 2}); }

TEST(MaskedCentringTest, EqualsPlainSums) {
    const auto all = people(5);
    for (const Network network : {Network::star, Network::decentralized}) {
        for (const CentringOptions& how : {CentringOptions{true, false}, {false, true}, {true, true}}) {
            const MaskedCentring masked = masked_feature_sums(views(all), how, job_in(network), {3, 1});
            FeatureSums plain;
            for (const auto& x : all) plain.add(feature_sums(x.view(), how));
            EXPECT_EQ(masked.sums.patients, plain.patients);
            EXPECT_GT(masked.traffic.bytes_up, 0);
            const Centring expected = centring_of(plain, how);
            const Centring found = centring_of(masked.sums, how);
            ASSERT_EQ(found.mean.size(), expected.mean.size());
            ASSERT_EQ(found.scale.size(), expected.scale.size());
            for (std::size_t i = 0; i < found.mean.size(); ++i) EXPECT_NEAR(found.mean[i], expected.mean[i], 1e-12);
            for (std::size_t i = 0; i < found.scale.size(); ++i) EXPECT_NEAR(found.scale[i], expected.scale[i], 1e-12);
        }
    }
}

TEST(MaskedCentringTest, EveryUnitKeepsItsDigits) {
    // Platelets a litre, age, creatinine in mol a litre, systolic pressure, one that is the same for all, and hormones
    // in mol a litre: of what is as small, and of what hardly varies beside its mean, the sum of squares is nothing
    // beside that of platelets.
    const std::vector<std::pair<double, double>> units = {{2.5e11, 5e10}, {50, 15},       {9e-5, 2e-5},   {130, 20},
                                                          {1e-9, 0},      {5e-12, 1e-12}, {2e-13, 1e-17}, {0, 1e-40}};
    const auto width = static_cast<Index>(units.size());
    Random random(8);
    std::vector<Tensor<double>> all;
    FeatureSums plain;
    const CentringOptions both{true, true};
    for (int k = 0; k < 4; ++k) {
        Tensor<double> x(Shape{100, width});
        for (Index i = 0; i < x.size(); ++i) {
            const auto& [mean, deviation] = units[static_cast<std::size_t>(i % width)];
            x.data()[i] = mean + deviation * random.normal();
        }
        plain.add(feature_sums(x.view(), both));
        all.push_back(std::move(x));
    }
    const Centring expected = centring_of(plain, both);
    for (const Network network : {Network::star, Network::decentralized}) {
        const Centring found = centring_of(masked_feature_sums(views(all), both, job_in(network), {3, 1}).sums, both);
        for (std::size_t i = 0; i < units.size(); ++i) {
            EXPECT_NEAR(found.mean[i], expected.mean[i], 1e-12 * std::abs(expected.mean[i])) << i;
            EXPECT_NEAR(found.scale[i], expected.scale[i], 1e-9 * expected.scale[i]) << i;
            if (units[i].second > 0) {
                EXPECT_NEAR(found.scale[i], units[i].second, 0.15 * units[i].second) << i;
            }
        }
        EXPECT_NEAR(found.scale[2], 2e-5, 3e-6);
        EXPECT_EQ(found.scale[4], 1);
    }
}

TEST(MaskedCentringTest, WhatIsTheSameForAllIsNotScaled) {
    std::vector<Tensor<double>> all = people(4);
    for (auto& x : all) {
        for (Index p = 0; p < x.shape()[0]; ++p) x.data()[p * 6] = 0.3, x.data()[p * 6 + 1] = 7000;
    }
    const auto masked = masked_feature_sums(views(all), {true, true}, job_in(Network::star), {3, 0});
    const Centring centring = centring_of(masked.sums, {true, true});
    EXPECT_EQ(centring.scale[0], 1);
    EXPECT_EQ(centring.scale[1], 1);
    EXPECT_NEAR(centring.scale[2], 1, 0.4);
}

TEST(MaskedCentringTest, NumbersOfOneUnitTakeFewerBytes) {
    const auto bytes = [](double small) {
        auto all = people(4);
        for (auto& x : all) {
            for (Index p = 0; p < x.shape()[0]; ++p) x.data()[p * 6] *= small;
        }
        return masked_feature_sums(views(all), {true, true}, job_in(Network::star), {3, 0}).traffic.bytes_up;
    };
    EXPECT_LT(bytes(1), bytes(1e-60));
}

TEST(MaskedCentringTest, ZerosHaveMeansToo) {
    std::vector<Tensor<double>> all;
    for (int k = 0; k < 3; ++k) all.push_back(Tensor<double>::zeros({4, 3}));
    const auto masked = masked_feature_sums(views(all), {true, true}, job_in(Network::star), {3, 0});
    EXPECT_EQ(masked.sums.patients, 12);
    const Centring centring = centring_of(masked.sums, {true, true});
    for (std::size_t i = 0; i < 3; ++i) {
        EXPECT_EQ(centring.mean[i], 0);
        EXPECT_EQ(centring.scale[i], 1);
    }
}

TEST(MaskedCentringTest, TooFewClientsAreNoCrowd) {
    const auto all = people(2);
    EXPECT_THROW(masked_feature_sums(views(all), {true, false}, job_in(Network::star), {3, 0}), InputError);
}

}  // namespace
}  // namespace couplet
