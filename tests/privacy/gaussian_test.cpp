#include "couplet/privacy/gaussian.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "couplet/core/error.hpp"
#include "couplet/core/random.hpp"

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

// Dong, Roth and Su 2022: mu-GDP is (epsilon, delta(epsilon))-DP with the analytic formula; and both ways.
TEST(Mu, IsEpsilonAtADeltaWithAnotherSpelling) {
    for (const double mu : {0.01, 0.5, 1.0, 4.0, 20.0}) {
        const double epsilon = epsilon_of_mu(mu, 1e-5);
        EXPECT_NEAR(mu_of_guarantee({epsilon, 1e-5}), mu, 1e-9 * mu);
        const auto phi = [](double x) { return 0.5 * std::erfc(-x / std::sqrt(2)); };
        const double delta = phi(-epsilon / mu + mu / 2) - std::exp(epsilon) * phi(-epsilon / mu - mu / 2);
        EXPECT_NEAR(delta, 1e-5, 1e-9);
        EXPECT_DOUBLE_EQ(mu_of_rho(rho_of_mu(mu)), mu);
    }
    // Known pairs: sigma 3.7306 at epsilon 1, 1.9938 at 2, 1.0812 at 4, for sensitivity 1 and delta 1e-5.
    EXPECT_NEAR(mu_of_guarantee({1, 1e-5}), 1 / 3.7306, 1e-4);
    EXPECT_NEAR(mu_of_guarantee({4, 1e-5}), 1 / 1.0812, 1e-4);
    EXPECT_EQ(epsilon_of_mu(0, 1e-5), 0);
    EXPECT_THROW(epsilon_of_mu(-1, 1e-5), InputError);
    EXPECT_THROW(epsilon_of_mu(1, 0), InputError);
    EXPECT_THROW(mu_of_guarantee({-1, 1e-5}), InputError);
}

TEST(Mu, ComposesInSquares) {
    const double three_and_four = std::hypot(3.0, 4.0);
    EXPECT_NEAR(epsilon_of_gaussian_rho(rho_of_mu(3) + rho_of_mu(4), 1e-6), epsilon_of_mu(three_and_four, 1e-6), 1e-9);
}

/// Rounded with the same secret uniform numbers, what two sums differ by stays within the bound.
TEST(RoundedSensitivity, HoldsForSumsThatAreRoundedAtRandom) {
    Random random(5);
    for (const std::int64_t numbers : {1, 3, 100, 5000}) {
        for (const double change : {0.3, 10.0, 300.0}) {
            const double bound = rounded_sensitivity(change, numbers);
            EXPECT_LE(bound, change + std::sqrt(static_cast<double>(numbers)));
            EXPECT_GE(bound, change);
            std::vector<double> step(static_cast<std::size_t>(numbers));
            double squares = 0;
            for (double& one : step) {
                one = random.normal();
                squares += one * one;
            }
            double worst = 0;
            for (int trial = 0; trial < 20; ++trial) {
                double moved = 0;
                for (const double one : step) {
                    const double u = random.uniform() * 7;
                    const double by = std::floor(u + one * change / std::sqrt(squares)) - std::floor(u);
                    moved += by * by;
                }
                worst = std::max(worst, std::sqrt(moved));
            }
            EXPECT_LE(worst, bound) << numbers << " " << change;
        }
    }
    // With a step that is small against the change, rounding costs nothing.
    EXPECT_LT(rounded_sensitivity(1000, 100) / 1000, 1.01);
}

}  // namespace
}  // namespace couplet
