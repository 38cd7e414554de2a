#include "coordinates.hpp"

#include <gtest/gtest.h>

#include "support.hpp"

namespace couplet {
namespace {

using namespace support;

Tensor<double> sparse_tensor(const Shape& shape, double density, std::uint64_t seed) {
    Random random(seed);
    auto x = Tensor<double>::zeros(shape);
    for (double& value : x.elements()) {
        if (random.uniform() < density) value = random.normal();
    }
    return x;
}

TEST(Coordinates, SparseAndDenseProductsAgree) {
    for (const Shape& shape : {Shape{9, 7}, Shape{11, 5, 3}, Shape{3, 4, 5, 6}}) {
        const auto x = sparse_tensor(shape, 0.1, 4);
        const auto list = coordinates(x.view());
        const auto factors = normal_factors(shape, 5, 6);
        for (Index mode = 0; mode < shape.order(); ++mode) {
            EXPECT_LT(distance(mttkrp(list, factors, mode), naive_mttkrp(x.view(), factors, mode)), 1e-11);
        }
    }
}

TEST(Coordinates, ListHoldsEveryEntryOnceInOrder) {
    auto x = Tensor<double>::zeros({2, 3, 2});
    x.data()[3] = 5;
    x.data()[10] = -1;
    const auto list = coordinates(x.view());
    EXPECT_EQ(list.values, (std::vector<double>{5, -1}));
    EXPECT_EQ(list.indices, (std::vector<std::int32_t>{0, 1, 1, 1, 2, 0}));
    EXPECT_TRUE(coordinates(Tensor<double>::zeros({2, 2}).view()).values.empty());
}

TEST(Coordinates, OnlySparseTensorsGetAList) {
    EXPECT_TRUE(sparse_form(sparse_tensor({40, 20, 20}, 0.007, 1).view()).has_value());
    EXPECT_FALSE(sparse_form(sparse_tensor({40, 20, 20}, 0.09, 1).view()).has_value());
    EXPECT_FALSE(sparse_form(normal_tensor({4, 5}, 1).view()).has_value());
}

TEST(Coordinates, ATwentyFourthOfThirdOrderIsTooMuch) {
    const auto filled = [](Index count) {
        auto x = Tensor<double>::zeros({10, 8, 3});
        for (Index i = 0; i < count; ++i) x.data()[7 * i] = 1;
        return sparse_form(x.view()).has_value();
    };
    EXPECT_TRUE(filled(9));
    EXPECT_FALSE(filled(10));  // of 240
    auto matrix = Tensor<double>::zeros({16, 10});
    for (Index i = 0; i < 9; ++i) matrix.data()[i] = 1;
    EXPECT_TRUE(sparse_form(matrix.view()).has_value());
    matrix.data()[9] = 1;  // a sixteenth of 160
    EXPECT_FALSE(sparse_form(matrix.view()).has_value());
}

}  // namespace
}  // namespace couplet
