#include "couplet/audit/ica.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "couplet/audit/recovery.hpp"
#include "couplet/core/random.hpp"
#include "couplet/linalg/products.hpp"
#include "couplet/linalg/qr.hpp"

namespace couplet {
namespace {

/// Records in which few features are set.
Matrix<double> sparse_people(Index people, Index features, std::uint64_t seed) {
    Random random(seed);
    auto x = Matrix<double>::zeros(people, features);
    for (Index i = 0; i < people; ++i) {
        for (int k = 0; k < 12; ++k) x(i, static_cast<Index>(random.below(static_cast<std::uint64_t>(features)))) = 1;
    }
    return x;
}

Matrix<double> turned(const Matrix<double>& x, std::uint64_t seed) {
    Random random(seed, 1);
    Matrix<double> turn(x.rows(), x.rows());
    for (Index i = 0; i < turn.size(); ++i) turn.data()[i] = random.normal();
    orthonormalise_columns(turn.view());
    return product<double>(turn.view(), x.view());
}

TEST(IndependentComponents, FindSparseRecordsInTheirOrthogonalMixture) {
    const auto people = sparse_people(20, 500, 3);
    const auto mixture = turned(people, 4);
    EXPECT_EQ(count_recovered(mixture.view(), people.view()), 0);
    EXPECT_EQ(count_recovered(independent_components(mixture.view()).view(), people.view()), 20);
}

TEST(IndependentComponents, AreUncorrelatedAndOfVarianceOne) {
    const auto components = independent_components(turned(sparse_people(7, 300, 5), 6).view());
    ASSERT_EQ(components.rows(), 7);
    for (Index i = 0; i < 7; ++i) {
        double mean = 0;
        for (Index j = 0; j < 300; ++j) mean += components(i, j) / 300;
        EXPECT_NEAR(mean, 0, 1e-9);
        for (Index k = 0; k < 7; ++k) {
            double covariance = 0;
            for (Index j = 0; j < 300; ++j) covariance += components(i, j) * components(k, j) / 300;
            EXPECT_NEAR(covariance, i == k ? 1 : 0, 1e-8);
        }
    }
}

TEST(IndependentComponents, AreAsManyAsTheMixturesSpan) {
    auto people = sparse_people(6, 200, 8);
    for (Index j = 0; j < 200; ++j) people(5, j) = people(0, j) - 2 * people(1, j);
    EXPECT_EQ(independent_components(people.view()).rows(), 5);
    auto constant = Matrix<double>::zeros(3, 40);
    for (Index i = 0; i < constant.size(); ++i) constant.data()[i] = 2.5;
    EXPECT_EQ(independent_components(constant.view()).rows(), 0);
    EXPECT_EQ(independent_components(Matrix<double>().view()).rows(), 0);
}

}  // namespace
}  // namespace couplet
