#include "couplet/linalg/reference.hpp"

#include <gtest/gtest.h>

#include "matrices.hpp"

namespace couplet {
namespace {

using support::geometric;
using support::matrix_with_spectrum;
using support::naive_distance;
using support::naive_norm;
using support::naive_product;
using support::orthonormality_residual;
using support::random_matrix;

TEST(Reference, MultiplyByHand) {
    auto a = Matrix<double>::zeros(2, 2);
    auto b = Matrix<double>::zeros(2, 1);
    a(0, 0) = 1;
    a(0, 1) = 2;
    a(1, 0) = 3;
    a(1, 1) = 4;
    b(0, 0) = 5;
    b(1, 0) = 6;
    const auto c = reference::multiply(a.view(), b.view());
    EXPECT_EQ(c(0, 0), 17);
    EXPECT_EQ(c(1, 0), 39);
}

TEST(Reference, SvdByHand) {
    auto a = Matrix<double>::zeros(2, 2);
    a(0, 1) = -3;
    a(1, 0) = 4;
    const auto svd = reference::svd(a.view());
    EXPECT_EQ(svd.sigma, (std::vector<double>{4, 3}));
    EXPECT_EQ(std::abs(svd.u(1, 0)), 1);
    EXPECT_EQ(std::abs(svd.v(0, 0)), 1);
}

/// ||A - U S V^T|| <= 100 u ||A||, U and V orthonormal.
TEST(Reference, SvdRebuildsItsArgument) {
    for (const auto& [rows, cols] : {std::pair<Index, Index>{1, 1}, {1, 5}, {5, 1}, {7, 7}, {31, 13}, {13, 31}}) {
        const auto a = random_matrix<double>(rows, cols);
        const auto svd = reference::svd(a.view());
        auto us = Matrix<double>::copy(svd.u.view());
        for (Index i = 0; i < us.rows(); ++i) {
            for (Index j = 0; j < us.cols(); ++j) us(i, j) *= svd.sigma[static_cast<std::size_t>(j)];
        }
        const auto back = naive_product(us.view(), svd.v.view(), Op::none, Op::transpose);
        EXPECT_LE(naive_distance(back.view(), a.view()), 2e-14 * naive_norm(a.view()));
        EXPECT_LT(orthonormality_residual(svd.u.view()), 50);
        EXPECT_LT(orthonormality_residual(svd.v.view()), 50);
        EXPECT_TRUE(std::ranges::is_sorted(svd.sigma, std::greater<>()));
    }
}

TEST(Reference, SvdKeepsSmallSingularValuesOfScaledColumns) {
    // Orthonormal columns scaled by sigma: Jacobi's relative accuracy holds for every column.
    const auto sigma = geometric(12, 0.1);
    auto a = support::orthonormal_columns(30, 12, 5);
    for (Index i = 0; i < 30; ++i) {
        for (Index j = 0; j < 12; ++j) a(i, j) *= sigma[static_cast<std::size_t>(j)];
    }
    const auto svd = reference::svd(a.view());
    for (std::size_t j = 0; j < 12; ++j) EXPECT_NEAR(svd.sigma[j], sigma[j], 1e-13 * sigma[j]);
}

TEST(Reference, ZeroSingularValuesHaveZeroColumns) {
    const auto svd = reference::svd(Matrix<double>::zeros(4, 3).view());
    EXPECT_EQ(svd.sigma, (std::vector<double>{0, 0, 0}));
    EXPECT_EQ(naive_norm(svd.u.view()), 0);
}

}  // namespace
}  // namespace couplet
