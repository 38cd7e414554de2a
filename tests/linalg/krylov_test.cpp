#include "krylov.hpp"

#include <gtest/gtest.h>

#include "couplet/linalg/eigen.hpp"
#include "couplet/linalg/products.hpp"
#include "matrices.hpp"

namespace couplet {
namespace {

using support::geometric;
using support::gram_with_spectrum;
using support::orthonormality_residual;
using support::same_bits;

SymmetricOperator times(const Matrix<double>& g) {
    return [&g](MatrixView<const double> q) { return product<double>(g.view(), q); };
}

TEST(KrylovSpace, IsOrthonormalAndHoldsTheDominantSpace) {
    const Index n = 151;
    const auto g = gram_with_spectrum(geometric(n, 0.8), n);
    const auto space = krylov_space(times(g), n, {.block = 15, .passes = 3, .seed = 4});
    EXPECT_LE(space.cols(), 45);
    EXPECT_LT(orthonormality_residual(space.view()), 20);
    const auto exact = symmetric_eigen(g.view(), 5);
    EXPECT_LT(support::projection_error(transpose(exact.vectors.view()).view(), space), 1e-6);
}

TEST(KrylovSpace, IsSeeded) {
    const Index n = 40;
    const auto g = gram_with_spectrum(geometric(n, 0.9), n);
    const auto first = krylov_space(times(g), n, {.block = 5, .passes = 2, .seed = 9});
    const auto again = krylov_space(times(g), n, {.block = 5, .passes = 2, .seed = 9});
    const auto other = krylov_space(times(g), n, {.block = 5, .passes = 2, .seed = 10});
    EXPECT_TRUE(same_bits<double>(first.view(), again.view()));
    EXPECT_FALSE(same_bits<double>(first.view(), other.view()));
}

TEST(KrylovSpace, NeverExceedsTheWholeSpace) {
    const Index n = 7;
    for (const Index block : {1, 3, 7, 20}) {
        const auto g = gram_with_spectrum(geometric(n, 0.5), n);
        const auto space = krylov_space(times(g), n, {.block = block, .passes = 3, .seed = 1});
        EXPECT_LE(space.cols(), n);
        EXPECT_LT(orthonormality_residual(space.view()), 50);
    }
}

TEST(KrylovSpace, StaysOrthonormalForLowRankAndZeroMatrices) {
    const Index n = 60;
    for (const Index rank : {0, 1, 4}) {
        const auto g = rank == 0 ? Matrix<double>::zeros(n, n) : gram_with_spectrum(geometric(rank, 0.5), n);
        const auto space = krylov_space(times(g), n, {.block = 10, .passes = 3, .seed = 1});
        EXPECT_LT(orthonormality_residual(space.view()), 50) << rank;
    }
}

}  // namespace
}  // namespace couplet
