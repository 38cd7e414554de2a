#include "cp.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "support.hpp"

namespace couplet {
namespace {

using namespace support;

const std::vector<Shape> shapes{{1, 1}, {5, 3}, {4, 7, 3}, {1, 5, 1}, {31, 17, 13}, {3, 4, 5, 2}, {2, 3, 2, 3, 2}};

TEST(Cp, MttkrpIsItsDefinitionForEveryMode) {
    for (const Shape& shape : shapes) {
        for (const Index rank : {1, 3, 33}) {
            const auto x = normal_tensor(shape, 5);
            const auto factors = normal_factors(shape, rank, 3);
            for (Index mode = 0; mode < shape.order(); ++mode) {
                const auto expected = naive_mttkrp(x.view(), factors, mode);
                const double size = std::sqrt(inner_product(expected, expected));
                EXPECT_LE(distance(mttkrp(x.view(), factors, mode), expected), 1e-13 * (1 + size))
                    << shape.to_string() << " rank " << rank << " mode " << mode;
            }
        }
    }
}

TEST(Cp, MttkrpCrossesItsBlocks) {
    // 23 x 64 products a patient: more than one block of 32 Ki elements.
    const Shape shape{41, 23, 3};
    const auto x = normal_tensor(shape, 1);
    const auto factors = normal_factors(shape, 64, 2);
    EXPECT_LT(distance(mttkrp(x.view(), factors, 1), naive_mttkrp(x.view(), factors, 1)), 1e-10);
}

TEST(Cp, GramOfTheKhatriRaoProductNeedsNoProduct) {
    const auto factors = normal_factors({4, 5, 3}, 6, 9);
    const auto h = khatri_rao(factors, 1, 3);
    ASSERT_EQ(h.rows(), 15);
    EXPECT_DOUBLE_EQ(h(7, 2), factors[1](2, 2) * factors[2](1, 2));
    EXPECT_LT(distance(khatri_rao_gram(factors, 0), gram<double>(h.view(), Side::right)), 1e-12);
    const auto all = khatri_rao(factors, 0, 3);
    EXPECT_LT(distance(khatri_rao_gram(factors, -1), gram<double>(all.view(), Side::right)), 1e-11);
    EXPECT_EQ(khatri_rao(factors, 1, 1)(0, 5), 1);
}

TEST(Cp, TheTrainOfFactorsIsTheModel) {
    for (const Shape& shape : shapes) {
        const auto factors = normal_factors(shape, 3, 4);
        const auto train = factor_train(factors);
        const auto w = Matrix<double>::adopt(train.full().release(), 3, shape.product(1, shape.order()));
        const auto product_of = product<double>(factors[0].view(), w.view());
        const auto expected = model_tensor(factors, shape);
        for (Index i = 0; i < expected.size(); ++i) EXPECT_NEAR(product_of.data()[i], expected.data()[i], 1e-12);
    }
}

TEST(Cp, SolvesAgainstAGramMatrixAlsoWhenItIsSingular) {
    const auto a = normal_matrix(9, 4, 1);
    const auto g = gram<double>(a.view(), Side::right);
    const auto y = normal_matrix(6, 4, 2);
    const auto b = product<double>(y.view(), g.view());
    EXPECT_LT(distance(solve_right(b, g), y), 1e-10);
    const auto wide = gram<double>(normal_matrix(2, 4, 3).view(), Side::right);
    const auto projected = product<double>(y.view(), wide.view());
    const auto again = product<double>(solve_right(projected, wide).view(), wide.view());
    EXPECT_LT(distance(again, projected), 1e-10);
    auto shifted = Matrix<double>::copy(g.view());
    for (Index r = 0; r < 4; ++r) shifted(r, r) += 2.5;
    EXPECT_LT(distance(product<double>(solve_right(b, g, 2.5).view(), shifted.view()), b), 1e-10);
}

TEST(Cp, LargestEigenvalueOfAGramMatrixIsItsSpectralNorm) {
    auto diagonal = Matrix<double>::zeros(3, 3);
    diagonal(0, 0) = 2;
    diagonal(1, 1) = 7;
    diagonal(2, 2) = 1;
    EXPECT_DOUBLE_EQ(largest_eigenvalue(diagonal), 7);
    EXPECT_EQ(largest_eigenvalue(Matrix<double>::zeros(4, 4)), 0);
    EXPECT_EQ(largest_eigenvalue(Matrix<double>::identity(1)), 1);
}

TEST(Cp, EverybodyDrawsTheSameSharedFactors) {
    const auto a = random_shared_factors({7, 5, 4}, 3, 8);
    const auto b = random_shared_factors({2, 5, 4}, 3, 8);
    const auto c = random_shared_factors({7, 5, 4}, 3, 9);
    EXPECT_EQ(distance(a[1], b[1]), 0);
    EXPECT_EQ(distance(a[2], b[2]), 0);
    EXPECT_GT(distance(a[1], c[1]), 0.1);
    for (Index r = 0; r < 3; ++r) {
        double norm2 = 0;
        for (Index i = 0; i < 5; ++i) norm2 += a[1](i, r) * a[1](i, r);
        EXPECT_NEAR(norm2, 1, 1e-14);
    }
}

TEST(Cp, SmallDirectionsCountAsZeroOnlyBelowTheThreshold) {
    const auto solved = [](double small, double shift) {
        auto a = Matrix<double>::zeros(2, 2);
        a(0, 0) = 1;
        a(1, 1) = small;
        Matrix<double> b(1, 2);
        b(0, 0) = b(0, 1) = 1;
        return solve_right(b, a, shift)(0, 1);
    };
    EXPECT_NEAR(solved(1e-11, 0), 1e11, 1e3);
    EXPECT_EQ(solved(1e-13, 0), 0);
    EXPECT_NEAR(solved(0, 0.5), 2, 1e-12);
    EXPECT_EQ(solved(0, 0), 0);
}

TEST(Cp, SmallHelpers) {
    const auto a = normal_matrix(2, 3, 1);
    auto b = normal_matrix(2, 3, 2);
    double inner = 0;
    for (Index i = 0; i < 6; ++i) inner += a.data()[i] * b.data()[i];
    EXPECT_NEAR(inner_product(a, b), inner, 1e-15);
    const auto expected = plus(b, -2.5, a);
    add_scaled(b, -2.5, a);
    EXPECT_LT(distance(b, expected), 1e-15);
    EXPECT_EQ(largest_eigenvalue(Matrix<double>(0, 0)), 0);
    auto negative = Matrix<double>::zeros(1, 1);
    negative(0, 0) = -1e-20;
    EXPECT_EQ(largest_eigenvalue(negative), 0);
    auto two = Matrix<double>::zeros(2, 2);
    two(0, 0) = two(1, 1) = 2;
    two(0, 1) = two(1, 0) = 1;
    EXPECT_NEAR(largest_eigenvalue(two), 3, 1e-14);
    EXPECT_TRUE(random_shared_factors({7, 5, 4}, 3, 8)[0].size() == 0);
    EXPECT_GT(distance(random_shared_factors({7, 4, 4}, 3, 8)[1], random_shared_factors({7, 4, 4}, 3, 8)[2]), 0.1);
}

TEST(Cp, WhatIsNotFiniteStaysSo) {
    for (const double value : {std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()}) {
        auto a = Matrix<double>::identity(3);
        a(1, 1) = value;
        EXPECT_TRUE(std::isnan(largest_eigenvalue(a)));
        EXPECT_TRUE(std::isnan(solve_right(normal_matrix(2, 3, 1), a)(1, 2)));
        EXPECT_TRUE(std::isnan(solve_right(normal_matrix(2, 3, 1), Matrix<double>::identity(3), value)(0, 0)));
    }
}

}  // namespace
}  // namespace couplet
