#include "lanczos.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "couplet/core/operations.hpp"
#include "couplet/core/threads.hpp"
#include "couplet/linalg/products.hpp"
#include "couplet/linalg/svd.hpp"
#include "matrices.hpp"

namespace couplet {
namespace {

using support::geometric;
using support::gram_with_spectrum;
using support::naive_product;
using support::orthonormality_residual;
using support::same_bits;

/// Singular values 1 / (j + 1)^power.
std::vector<double> algebraic(Index n, double power) {
    std::vector<double> result;
    for (Index j = 0; j < n; ++j) result.push_back(std::pow(static_cast<double>(j + 1), -power));
    return result;
}

/// Finds what the direct solver finds: the sum to the tolerance, each value nearly so, orthonormal vectors whose
/// residuals are small, signs by the rule.
void expect_settled(const Matrix<double>& g, Index count) {
    constexpr double tolerance = 1e-9;
    const auto eigen = lanczos_eigen(g.view(), count, tolerance);
    ASSERT_TRUE(eigen.has_value());
    ASSERT_EQ(static_cast<Index>(eigen->values.size()), count);
    const auto exact = symmetric_eigen(g.view(), count);
    const double best = std::accumulate(exact.values.begin(), exact.values.end(), 0.0);
    const double found = std::accumulate(eigen->values.begin(), eigen->values.end(), 0.0);
    const double rest = trace(g.view()) - best;
    EXPECT_NEAR(found, best, tolerance * rest + 1e-14 * best);
    EXPECT_LT(orthonormality_residual(eigen->vectors.view()), 50);
    EXPECT_TRUE(support::obeys_sign_rule(eigen->vectors.view()));
    for (std::size_t i = 1; i < eigen->values.size(); ++i) {
        EXPECT_LE(eigen->values[i], eigen->values[i - 1] + 1e-15 * best);
    }
    // What the vectors hold is what the values say.
    const auto image = product<double>(g.view(), eigen->vectors.view());
    for (Index j = 0; j < count; ++j) {
        double quotient = 0;
        for (Index i = 0; i < g.rows(); ++i) quotient += eigen->vectors(i, j) * image(i, j);
        EXPECT_NEAR(quotient, eigen->values[static_cast<std::size_t>(j)], 1e-13 * exact.values.front());
    }
}

TEST(LanczosEigen, SettlesOnSpectraThatDecay) {
    for (const Index n : {201, 256, 301}) {
        expect_settled(gram_with_spectrum(geometric(n, 0.7), n), 10);
        expect_settled(gram_with_spectrum(geometric(n, 0.93), n), 20);
        expect_settled(gram_with_spectrum(algebraic(n, 1), n), 25);
    }
}

TEST(LanczosEigen, SettlesBesideNoiseAndOnTinyValues) {
    auto sigma = geometric(300, 0.8);
    for (double& value : sigma) value = std::max(value, 1e-3);
    expect_settled(gram_with_spectrum(sigma, 300), 20);
    // Below 1e-16 of the largest there is nothing but rounding to find.
    expect_settled(gram_with_spectrum(geometric(300, 0.3), 300), 30);
}

TEST(LanczosEigen, TakesAnyMagnitude) {
    for (const double scale : {1e-70, 1e70}) {
        auto g = gram_with_spectrum(geometric(240, 0.8), 240);
        for (Index i = 0; i < g.size(); ++i) g.data()[i] *= scale;
        expect_settled(g, 12);
    }
}

/// Eigenvalues that occur more often than a block has columns, above others that keep the space growing: the start
/// cannot reach all of them, and the residuals of those that it does reach say nothing of the others.
TEST(LanczosEigen, DoesNotOverlookRepeatedEigenvalues) {
    const Index n = 300;
    for (const Index copies : {8, 9, 12, 20, 40}) {
        for (const double power : {0.5, 1.0, 2.0}) {
            auto sigma = algebraic(n, power);
            std::ranges::copy(algebraic(n - copies, power), sigma.begin() + copies);
            for (double& value : sigma) value *= 0.5;
            std::fill_n(sigma.begin(), copies, 1.0);
            const auto g = gram_with_spectrum(sigma, n);
            const Index count = copies + 3;
            const auto eigen = lanczos_eigen(g.view(), count, 1e-9);
            if (!eigen) continue;  // left to the direct solver
            for (Index j = 0; j < count; ++j) {
                const auto at = static_cast<std::size_t>(j);
                EXPECT_NEAR(eigen->values[at], sigma[at] * sigma[at], 1e-6) << copies << " copies, value " << j;
            }
        }
    }
}

/// Staircases: several values that occur more than eight times each, where a second start of a few steps is deceived by
/// the many below.
TEST(LanczosEigen, DoesNotOverlookStairs) {
    using Stairs = std::vector<std::pair<double, Index>>;
    const Stairs steep{{1, 10},        {0.77, 8},      {0.69, 32},   {0.079, 48},  {0.007, 60},
                       {0.00044, 70},  {1.8e-5, 79},   {4.3e-7, 88}, {4.3e-9, 96}, {1.2e-11, 103},
                       {2.7e-15, 110}, {1.7e-21, 116}, {0, 5}};
    Stairs even;
    for (int level = 0; level < 40; ++level) even.emplace_back(std::pow(0.9, level), 16);
    for (const Stairs& stairs : {steep, even}) {
        std::vector<double> values;
        for (const auto& [value, copies] : stairs) values.insert(values.end(), static_cast<std::size_t>(copies), value);
        const auto n = static_cast<Index>(values.size());
        auto g = Matrix<double>::zeros(n, n);
        for (Index i = 0; i < n; ++i) g(i, i) = values[static_cast<std::size_t>(i)];
        for (const Index count : {5, 9, 14, 16, 24, 40}) {
            const auto eigen = lanczos_eigen(g.view(), count, 1e-9);
            if (!eigen) continue;  // left to the direct solver
            for (Index j = 0; j < count; ++j) {
                const auto at = static_cast<std::size_t>(j);
                EXPECT_NEAR(eigen->values[at], values[at], 1e-6) << n << ", " << count << " asked for, value " << j;
            }
        }
    }
}

TEST(LanczosEigen, GivesUpRatherThanBeWrong) {
    std::vector<double> flat;
    for (int i = 0; i < 200; ++i) flat.push_back(1 - 5e-4 * i);
    EXPECT_FALSE(lanczos_eigen(gram_with_spectrum(flat, 200).view(), 10, 1e-9).has_value());
    EXPECT_FALSE(lanczos_eigen(Matrix<double>::zeros(200, 200).view(), 10, 1e-9).has_value());
    EXPECT_FALSE(lanczos_eigen(Matrix<double>::identity(8).view(), 4, 1e-9).has_value());
}

/// Fewer directions than are asked for, a number of them that is no multiple of a block, or coordinates alone: found,
/// or left to the direct solver.
TEST(LanczosEigen, StandsLowRankAndCoordinates) {
    for (const Index rank : {1, 4, 8, 12, 20, 37}) {
        const auto g = gram_with_spectrum(geometric(rank, 0.9), 200);
        auto spike = Matrix<double>::zeros(200, 200);
        for (Index i = 0; i < rank; ++i) spike(i, i) = static_cast<double>(rank - i);
        for (const Matrix<double>* a : std::initializer_list<const Matrix<double>*>{&g, &spike}) {
            const auto eigen = lanczos_eigen(a->view(), 20, 1e-9);
            if (!eigen) continue;  // left to the direct solver
            EXPECT_LT(orthonormality_residual(eigen->vectors.view()), 50) << rank;
            const auto exact = symmetric_eigen(a->view(), 20);
            for (std::size_t i = 0; i < 20; ++i)
                EXPECT_NEAR(eigen->values[i], exact.values[i], 1e-12 * trace(a->view()));
        }
    }
}

TEST(LanczosEigen, DoesNotDependOnThreads) {
    const auto g = gram_with_spectrum(geometric(520, 0.95), 520);
    const int before = thread_count();
    set_thread_count(1);
    const auto one = lanczos_eigen(g.view(), 30, 1e-9);
    set_thread_count(3);
    const auto three = lanczos_eigen(g.view(), 30, 1e-9);
    set_thread_count(before);
    ASSERT_TRUE(one && three);
    EXPECT_TRUE(same_bits<double>(one->vectors.view(), three->vectors.view()));
    EXPECT_EQ(one->values, three->values);
}

/// Noise beside a mean or a few strong directions is left to the direct solver before much is spent on it.
TEST(LanczosEigen, SeesThatTheRestIsNoise) {
    const auto noise = support::random_matrix<double>(600, 300, 3);
    for (const Index strong : {0, 1, 4}) {
        auto a = Matrix<double>::copy(noise.view());
        for (Index i = 0; i < a.rows(); ++i) {
            for (Index j = 0; j < strong; ++j) a(i, 7 * j) += 30.0 * std::cos(static_cast<double>(i * (j + 1)));
        }
        const auto g = naive_product(a.view(), a.view(), Op::transpose, Op::none);
        const OperationCount count;
        EXPECT_FALSE(lanczos_eigen(g.view(), 30, 1e-9).has_value()) << strong;
        // 3 of 13 blocks, not all of them.
        EXPECT_LT(count.total(), 5 * 16.0 * 300 * 300) << strong;
    }
}

TEST(LanczosPays, ForAPartOfALargeMatrix) {
    const auto large = Matrix<double>::identity(400);
    EXPECT_TRUE(lanczos_pays(large.view(), 40));
    EXPECT_FALSE(lanczos_pays(large.view(), 75));
    EXPECT_FALSE(lanczos_pays(large.view(), std::numeric_limits<Index>::max()));
    EXPECT_FALSE(lanczos_pays(Matrix<double>::identity(255).view(), 5));
    EXPECT_TRUE(lanczos_pays(Matrix<double>::identity(256).view(), 5));
}

}  // namespace
}  // namespace couplet
