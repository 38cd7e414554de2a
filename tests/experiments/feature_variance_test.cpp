#include "couplet/experiments/feature_variance.hpp"

#include "couplet/core/error.hpp"
#include "couplet/sim/reference.hpp"
#include "couplet/tt/rounding.hpp"
#include "trains.hpp"

namespace couplet {
namespace {

TEST(FeatureVarianceTest, HandComputedForOneMode) {
    // One feature mode: the core is diag(sigma) V^T, R1 x I2, and slice i its column: (8 0), (0 2), (0 0).
    Tensor<double> core = Tensor<double>::zeros({2, 3, 1});
    core.data()[0] = core.data()[4] = 1;
    std::vector<Tensor<double>> cores;
    cores.push_back(std::move(core));
    const Features features{TensorTrain<double>(std::move(cores)), {8, 2}, true};
    const auto v = feature_variances(features);
    ASSERT_EQ(v.size(), 1U);
    ASSERT_EQ(v[0].size(), 3U);
    EXPECT_NEAR(v[0][0], 16, 1e-12);
    EXPECT_NEAR(v[0][1], 1, 1e-12);
    EXPECT_NEAR(v[0][2], 0, 1e-12);
}

TEST(FeatureVarianceTest, DoesNotDependOnWhereTheNormIs) {
    const auto train = support::random_train<double>({4, 5, 3}, {3, 4, 2, 1});
    const auto v = feature_variances({train.clone(), {}, false});
    ASSERT_EQ(v.size(), 3U);
    const auto left = feature_variances({left_orthonormalise(train).train, {}, false});
    const auto right = feature_variances({right_orthonormalise(train).train, {}, false});
    for (std::size_t mode = 0; mode < 3; ++mode) {
        for (std::size_t i = 0; i < v[mode].size(); ++i) {
            EXPECT_NEAR(v[mode][i], left[mode][i], 1e-9 * v[mode][i]);
            EXPECT_NEAR(v[mode][i], right[mode][i], 1e-9 * v[mode][i]);
        }
    }
}

TEST(FeatureVarianceTest, WeightsCount) {
    const auto train = right_orthonormalise(support::random_train<double>({4, 3}, {2, 2, 1})).train;
    const auto plain = feature_variances({train.clone(), {1, 1}, true});
    const auto doubled = feature_variances({train.clone(), {2, 2}, true});
    for (std::size_t mode = 0; mode < 2; ++mode) {
        for (std::size_t i = 0; i < plain[mode].size(); ++i) {
            EXPECT_NEAR(doubled[mode][i], 4 * plain[mode][i], 1e-9);
        }
    }
}

TEST(FeatureVarianceTest, PicksTheLargestOverAllModes) {
    const std::vector<std::vector<double>> variances{{1, 9, 3}, {9, 0.5}};
    EXPECT_EQ(most_variable(variances, 3), (std::vector<FeatureIndex>{{0, 1}, {1, 0}, {0, 2}}));
    EXPECT_EQ(most_variable(variances, 100).size(), 5U);
    EXPECT_THROW(most_variable(variances, 0), InputError);
}

TEST(FeatureVarianceTest, APersonIsWhatItHasInThoseIndices) {
    Tensor<double> x({2, 2, 3});
    for (Index i = 0; i < x.size(); ++i) x.data()[i] = static_cast<double>(i);
    // Index 1 of mode 2 is (3 4 5), index 0 of mode 3 is (0 3): together 0 3 4 5.
    const auto people = restrict_to(x.view(), {{0, 1}, {1, 0}});
    ASSERT_EQ(people.rows(), 2);
    ASSERT_EQ(people.cols(), 4);
    const std::vector<double> expected{0, 3, 4, 5, 6, 9, 10, 11};
    for (Index i = 0; i < people.size(); ++i) EXPECT_EQ(people.data()[i], expected[static_cast<std::size_t>(i)]);
}

TEST(FeatureVarianceTest, AFederationChoosesTheFeaturesOfTheCentralizedTrain) {
    auto x = support::random_tensor<double>({60, 6, 5}, 3, 0.05);
    for (Index p = 0; p < 60; ++p) {
        for (Index j = 0; j < 5; ++j) x.data()[(p * 6 + 2) * 5 + j] *= 40;  // index 2 of mode 2 stands out
    }
    const JobOptions job{.rank = 5};
    const auto ours = simulate(MemorySource(split_rows(x.view(), 3)), {.job = job});
    const auto all = reference_centralized(MemorySource(split_rows(x.view(), 3)), {.job = job});
    const auto a = feature_variances(*ours.features);
    const auto b = feature_variances(*all.features);
    EXPECT_EQ(std::max_element(a[0].begin(), a[0].end()) - a[0].begin(), 2);
    EXPECT_NEAR(a[0][2], b[0][2], 0.02 * b[0][2]);
}

}  // namespace
}  // namespace couplet
