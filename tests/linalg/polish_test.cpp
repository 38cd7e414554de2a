#include "couplet/linalg/polish.hpp"

#include <gtest/gtest.h>

#include "couplet/linalg/svd.hpp"
#include "matrices.hpp"

namespace couplet {
namespace {

using support::geometric;
using support::matrix_with_spectrum;
using support::naive_norm;
using support::naive_product;
using support::orthonormal_columns;
using support::random_matrix;

/// A - A V V^T (right) or A - V V^T A (left), by loops.
double naive_residual(const Matrix<double>& a, Side side, const Matrix<double>& v) {
    const auto projector = naive_product(v.view(), v.view(), Op::none, Op::transpose);
    const auto kept = side == Side::right ? naive_product(a.view(), projector.view(), Op::none, Op::none)
                                          : naive_product(projector.view(), a.view(), Op::none, Op::none);
    double sum = 0;
    for (Index i = 0; i < a.size(); ++i) sum += std::pow(a.data()[i] - static_cast<double>(kept.data()[i]), 2);
    return sum;
}

TEST(Residual, EqualsItsDefinitionPastOneBlock) {
    for (const auto& [rows, cols] : {std::pair<Index, Index>{7, 5}, {1031, 11}, {13, 513}}) {
        const auto a = random_matrix<double>(rows, cols, 3);
        for (const Side side : {Side::left, Side::right}) {
            const auto v = orthonormal_columns(side == Side::right ? cols : rows, 3, 4);
            const double expected = naive_residual(a, side, v);
            EXPECT_NEAR(DenseEnd<double>(a.view(), side).residual_norm2(v), expected, 1e-12 * expected);
        }
    }
}

/// A space off by 1e-7, as a Gram matrix leaves it, comes back to rounding: ||A - A V V^T|| <= 1e-13 ||A||.
TEST(PolishedFactor, RepairsASpaceOfExactlyLowRank) {
    const auto sigma = geometric(12, 0.3);
    for (const Side side : {Side::left, Side::right}) {
        const auto a =
            side == Side::right ? matrix_with_spectrum(300, 40, sigma) : matrix_with_spectrum(40, 300, sigma);
        const auto exact = dominant_basis<double>(a.view(), side, {.max_rank = 12, .method = SvdMethod::qr});
        auto rough = Matrix<double>::copy(exact.vectors.view());
        const auto noise = random_matrix<double>(40, 12, 9);
        for (Index i = 0; i < rough.size(); ++i) rough.data()[i] += 1e-7 * noise.data()[i];
        orthonormalise_columns(rough.view());
        ASSERT_GT(DenseEnd<double>(a.view(), side).residual_norm2(rough), 1e-20);
        const auto factor = polished_factor(DenseEnd<double>(a.view(), side), rough);
        ASSERT_EQ(factor.rows(), 12);
        ASSERT_EQ(factor.cols(), 40);
        const auto basis = basis_from_factor(factor.view(), {.max_rank = 12});
        EXPECT_LE(std::sqrt(DenseEnd<double>(a.view(), side).residual_norm2(basis.vectors)), 1e-13);
        for (std::size_t i = 0; i < sigma.size(); ++i) EXPECT_NEAR(basis.sigma[i], sigma[i], 1e-14);
    }
}

/// Exactly low rank needs no QR: the tail of the cut is at rounding and the method is still gram.
TEST(TruncatedSvd, PolishesExactlyLowRankData) {
    const auto a = matrix_with_spectrum(80, 900, geometric(20, 0.7));
    const auto svd = truncated_svd<double>(a.view(), {.max_rank = 20});
    EXPECT_EQ(svd.method, SvdMethod::gram);
    EXPECT_LE(std::sqrt(svd.tail2), 1e-13 * naive_norm(a.view()));
}

}  // namespace
}  // namespace couplet
