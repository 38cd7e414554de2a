#include "krylov.hpp"

#include <gtest/gtest.h>

#include "matrices.hpp"

namespace couplet {
namespace {

using support::geometric;
using support::matrix_with_spectrum;
using support::naive_product;
using support::orthonormality_residual;
using support::same_bits;

/// Positive semidefinite with eigenvalues sigma^2.
Matrix<double> gram_with(const std::vector<double>& sigma, Index n) {
    const auto a = matrix_with_spectrum(n, n, sigma);
    return naive_product(a.view(), a.view(), Op::transpose, Op::none);
}

SymmetricOperator times(const Matrix<double>& g) {
    return [&g](MatrixView<const double> q) { return product<double>(g.view(), q); };
}

TEST(KrylovSpace, IsOrthonormalAndHoldsTheDominantSpace) {
    const Index n = 151;
    const auto g = gram_with(geometric(n, 0.8), n);
    const auto space = krylov_space(times(g), n, {.block = 15, .passes = 3, .seed = 4});
    EXPECT_LE(space.cols(), 45);
    EXPECT_LT(orthonormality_residual(space.view()), 20);
    const auto exact = symmetric_eigen(g.view(), 5);
    EXPECT_LT(support::projection_error(transpose(exact.vectors.view()).view(), space), 1e-6);
}

TEST(KrylovSpace, IsSeeded) {
    const Index n = 40;
    const auto g = gram_with(geometric(n, 0.9), n);
    const auto first = krylov_space(times(g), n, {.block = 5, .passes = 2, .seed = 9});
    const auto again = krylov_space(times(g), n, {.block = 5, .passes = 2, .seed = 9});
    const auto other = krylov_space(times(g), n, {.block = 5, .passes = 2, .seed = 10});
    EXPECT_TRUE(same_bits<double>(first.view(), again.view()));
    EXPECT_FALSE(same_bits<double>(first.view(), other.view()));
}

TEST(KrylovSpace, NeverExceedsTheWholeSpace) {
    const Index n = 7;
    for (const Index block : {1, 3, 7, 20}) {
        const auto g = gram_with(geometric(n, 0.5), n);
        const auto space = krylov_space(times(g), n, {.block = block, .passes = 3, .seed = 1});
        EXPECT_LE(space.cols(), n);
        EXPECT_LT(orthonormality_residual(space.view()), 50);
    }
}

TEST(KrylovSpace, StaysOrthonormalForLowRankAndZeroMatrices) {
    const Index n = 60;
    for (const Index rank : {0, 1, 4}) {
        const auto g = rank == 0 ? Matrix<double>::zeros(n, n) : gram_with(geometric(rank, 0.5), n);
        const auto space = krylov_space(times(g), n, {.block = 10, .passes = 3, .seed = 1});
        EXPECT_LT(orthonormality_residual(space.view()), 50) << rank;
    }
}

/// The sum of the eigenvalues found is within the tolerance of the rest of the trace; vectors orthonormal,
/// sign rule.
TEST(KrylovEigen, SettlesOnDecayingSpectra) {
    const Index n = 301;
    const Index count = 10;
    const auto sigma = geometric(n, 0.7);
    const auto g = gram_with(sigma, n);
    const auto eigen = krylov_eigen(g.view(), count, 1e-9);
    ASSERT_TRUE(eigen.has_value());
    double found = 0;
    double best = 0;
    double rest = 0;
    for (std::size_t i = 0; i < sigma.size(); ++i) {
        if (i < 10) found += eigen->values[i];
        (i < 10 ? best : rest) += sigma[i] * sigma[i];
    }
    EXPECT_NEAR(found, best, 1e-8 * rest + 1e-14);
    EXPECT_LT(orthonormality_residual(eigen->vectors.view()), 50);
    EXPECT_TRUE(support::obeys_sign_rule(eigen->vectors.view()));
    EXPECT_TRUE(std::ranges::is_sorted(eigen->values, std::greater<>()));
    const auto again = krylov_eigen(g.view(), count, 1e-9);
    EXPECT_TRUE(same_bits<double>(eigen->vectors.view(), again->vectors.view()));
}

TEST(KrylovEigen, SettlesWhenTheSpaceStopsGrowing) {
    // Fewer directions than the blocks have columns, or equal eigenvalues: nothing new to find after one pass.
    for (const auto& g : {gram_with(geometric(12, 0.5), 200), Matrix<double>::identity(200)}) {
        const auto eigen = krylov_eigen(g.view(), 10, 1e-9);
        if (!eigen) continue;
        EXPECT_LT(orthonormality_residual(eigen->vectors.view()), 50);
        const auto exact = symmetric_eigen(g.view(), 10);
        for (std::size_t i = 0; i < 10; ++i) EXPECT_NEAR(eigen->values[i], exact.values[i], 1e-12);
    }
}

TEST(KrylovEigen, GivesUpOnFlatAndOnTooSmallMatrices) {
    std::vector<double> flat;
    for (int i = 0; i < 200; ++i) flat.push_back(1 - 5e-4 * i);
    EXPECT_FALSE(krylov_eigen(gram_with(flat, 200).view(), 10, 1e-9).has_value());
    EXPECT_FALSE(krylov_eigen(Matrix<double>::zeros(200, 200).view(), 10, 1e-9).has_value());
    EXPECT_FALSE(krylov_eigen(Matrix<double>::identity(8).view(), 4, 1e-9).has_value());
}

}  // namespace
}  // namespace couplet
