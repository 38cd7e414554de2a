#include "couplet/secure/mode_basis.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "couplet/core/random.hpp"
#include "couplet/linalg/products.hpp"

namespace couplet {
namespace {

Tensor<double> random_tensor(const Shape& shape) {
    Random random(11);
    Tensor<double> x(shape);
    for (double& one : x.elements()) one = random.normal();
    return x;
}

/// Entry by entry: A_n(i, j) is the sum over everything else of x at i times x at j.
TEST(ModeGrams, AreTheSumsOfTheirDefinition) {
    const auto x = random_tensor({3, 4, 2, 5});
    const auto grams = mode_grams(x.view());
    ASSERT_EQ(grams.size(), 3U);
    for (Index mode = 1; mode < 4; ++mode) {
        const auto& found = grams[static_cast<std::size_t>(mode - 1)];
        auto expected = Matrix<double>::zeros(x.shape()[mode], x.shape()[mode]);
        for (Index at = 0; at < x.size(); ++at) {
            auto other = x.shape().indices(at);
            const Index i = other[static_cast<std::size_t>(mode)];
            for (Index j = 0; j < x.shape()[mode]; ++j) {
                other[static_cast<std::size_t>(mode)] = j;
                expected(i, j) += x.data()[at] * x.view().at(other);
            }
        }
        for (Index i = 0; i < expected.size(); ++i) EXPECT_NEAR(found.data()[i], expected.data()[i], 1e-10);
    }
}

TEST(LeadingProducts, AreTheLargestOfAll) {
    const std::vector<std::vector<double>> values{{5, 3, 1, 0}, {4, 4, 0.5}, {2, 1}};
    const auto leading = leading_products(values, 7);
    std::vector<double> all;
    for (const double a : values[0]) {
        for (const double b : values[1]) {
            for (const double c : values[2]) all.push_back(a / 9 * (b / 8.5) * (c / 3));
        }
    }
    std::sort(all.rbegin(), all.rend());
    ASSERT_EQ(leading.size(), 7U);
    for (std::size_t i = 0; i < 7; ++i) EXPECT_NEAR(leading[i].weight, all[i], 1e-15);
    // Equal weights: the lowest numbers first.
    EXPECT_EQ(leading[0].vector, (std::vector<Index>{0, 0, 0}));
    EXPECT_EQ(leading[1].vector, (std::vector<Index>{0, 1, 0}));
    EXPECT_EQ(leading_products(values, 1000).size(), 24U);
}

/// Coordinates on all products are a rotation of the records, and expanding them gives the records back.
TEST(ProductCoordinates, RotateTheRecords) {
    for (const Shape& shape : {Shape{6, 5}, Shape{6, 5, 4}, Shape{6, 2, 3, 4}, Shape{4, 2, 3, 2, 3}}) {
        const auto x = random_tensor(shape);
        const Index features = shape.product(1, shape.order());
        const ModeBasis basis = make_mode_basis(mode_grams(x.view()), features);
        ASSERT_EQ(static_cast<Index>(basis.products.size()), features);
        const auto all = product_coordinates(x.view(), basis, features);
        EXPECT_NEAR(squared_norm<double>(all.view()), squared_norm<double>(x.view().unfold(1)), 1e-9);
        const auto back = expand_products(all.view(), basis);
        for (Index i = 0; i < x.size(); ++i) EXPECT_NEAR(back.data()[i], x.data()[i], 1e-10);
        // Fewer columns are the first of all.
        const auto some = product_coordinates(x.view(), basis, 2);
        for (Index i = 0; i < shape[0]; ++i) {
            for (Index j = 0; j < 2; ++j) EXPECT_NEAR(some(i, j), all(i, j), 1e-12);
        }
    }
}

TEST(MakeModeBasis, TakesNegativeEigenvaluesAsNothing) {
    auto sum = Matrix<double>::zeros(2, 2);
    sum(0, 0) = -3;
    sum(1, 1) = 2;
    std::vector<Matrix<double>> sums;
    sums.push_back(std::move(sum));
    const ModeBasis basis = make_mode_basis(sums, 2);
    EXPECT_EQ(basis.values[0], (std::vector<double>{2, 0}));
    EXPECT_EQ(basis.products[0].weight, 1);
    EXPECT_EQ(basis.products[1].weight, 0);
}

}  // namespace
}  // namespace couplet
