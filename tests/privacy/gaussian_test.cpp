#include "couplet/privacy/gaussian.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "couplet/core/error.hpp"

namespace couplet {
namespace {

TEST(GaussianSigma, HasTheValuesOfTheLiterature) {
    EXPECT_NEAR(gaussian_sigma({0.1, 1e-5}, 1), 30.75, 0.005);
    EXPECT_NEAR(gaussian_sigma({0.5, 1e-5}, 1), 7.03, 0.005);
    EXPECT_NEAR(gaussian_sigma({1, 1e-5}, 1), 3.73, 0.005);
    EXPECT_NEAR(gaussian_sigma({2, 1e-5}, 1), 1.99, 0.005);
    EXPECT_NEAR(gaussian_sigma({1, 1e-5}, 1, 2), 5.28, 0.005);
}

TEST(GaussianSigma, ScalesWithTheSensitivityAndTheRootOfTheReleases) {
    const double one = gaussian_sigma({1, 1e-6}, 1);
    EXPECT_NEAR(gaussian_sigma({1, 1e-6}, 7), 7 * one, 1e-9);
    EXPECT_NEAR(gaussian_sigma({1, 1e-6}, 1, 4), 2 * one, 1e-9);
}

TEST(GaussianSigma, IsTheSmallestThatKeepsThePromise) {
    for (const double epsilon : {0.01, 0.3, 1.0, 5.0, 30.0}) {
        for (const double delta : {1e-12, 1e-5, 0.1}) {
            const double sigma = gaussian_sigma({epsilon, delta}, 1);
            EXPECT_LE(gaussian_delta(epsilon, sigma, 1), delta);
            EXPECT_GT(gaussian_delta(epsilon, sigma * (1 - 1e-9), 1), delta * (1 - 1e-6));
        }
    }
}

TEST(GaussianSigma, RefusesWhatMeansNothing) {
    EXPECT_THROW(gaussian_sigma({0, 1e-5}, 1), InputError);
    EXPECT_THROW(gaussian_sigma({1, 0}, 1), InputError);
    EXPECT_THROW(gaussian_sigma({1, 1}, 1), InputError);
    EXPECT_THROW(gaussian_sigma({1, 1e-5}, 0), InputError);
    EXPECT_THROW(gaussian_sigma({1, 1e-5}, 1, 0), InputError);
    EXPECT_THROW(gaussian_sigma({std::nan(""), 1e-5}, 1), InputError);
}

TEST(Weakness, IsNamedInWords) {
    EXPECT_EQ(weakness({1, 1e-5}, 50'000), "");
    EXPECT_EQ(weakness({10, 1e-5}, 50'000), "");
    EXPECT_NE(weakness({1e6, 1e-5}, 50).find("epsilon 1e+06 is more than 10"), std::string::npos);
    EXPECT_NE(weakness({1, 0.99}, 400).find("delta 0.99 is at least one in 400 patients"), std::string::npos);
}

TEST(Rho, TurnsIntoEpsilonAndBack) {
    for (const double epsilon : {0.1, 1.0, 8.0}) {
        EXPECT_NEAR(epsilon_of_rho(rho_of_epsilon({epsilon, 1e-5}), 1e-5), epsilon, 1e-12);
    }
    EXPECT_NEAR(gaussian_rho(2, 1, 3), 3.0 / 8, 1e-15);
}

TEST(Rho, ExactCompositionIsNoLooserThanTheConcentratedOne) {
    // Jobs that are Gaussian compose to one Gaussian: a job of epsilon 1 spends epsilon 1.
    const double sigma = gaussian_sigma({1, 1e-5}, 1, 3);
    EXPECT_NEAR(epsilon_of_gaussian_rho(gaussian_rho(sigma, 1, 3), 1e-5), 1, 1e-9);
    for (const double rho : {1e-4, 0.03, 0.5, 4.0}) {
        EXPECT_LE(epsilon_of_gaussian_rho(rho, 1e-5), epsilon_of_rho(rho, 1e-5));
    }
    EXPECT_EQ(epsilon_of_gaussian_rho(0, 1e-5), 0);
}

TEST(Rho, DoesNotDependOnTheUnitOfTheData) {
    const double usual = gaussian_rho(gaussian_sigma({3, 1e-5}, 1), 1);
    for (const double unit : {1e-200, 1e-80, 1e80, 1e200}) {
        EXPECT_NEAR(gaussian_rho(gaussian_sigma({3, 1e-5}, unit), unit), usual, 1e-9 * usual) << unit;
    }
}

TEST(Rho, ThatIsNoNumberIsNotNothingSpent) {
    EXPECT_THROW(epsilon_of_gaussian_rho(std::nan(""), 1e-5), InputError);
    EXPECT_THROW(epsilon_of_gaussian_rho(-1, 1e-5), InputError);
    // At delta 1 every epsilon would be 0, at delta 0 none would do.
    EXPECT_THROW(epsilon_of_gaussian_rho(0.5, 1), InputError);
    EXPECT_THROW(epsilon_of_gaussian_rho(0.5, 0), InputError);
}

}  // namespace
}  // namespace couplet
