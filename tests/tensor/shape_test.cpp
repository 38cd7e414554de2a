#include "couplet/tensor/shape.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <limits>

#include "couplet/core/error.hpp"

namespace couplet {
namespace {

constexpr Index largest = std::numeric_limits<Index>::max();

std::string message(const std::function<void()>& action) {
    try {
        action();
    } catch (const InputError& error) {
        return error.what();
    }
    return "nothing was thrown";
}

TEST(CheckedProduct, MultipliesUpToTheLargestSize) {
    EXPECT_EQ(checked_product(0, largest), 0);
    EXPECT_EQ(checked_product(1, largest), largest);
    EXPECT_EQ(checked_product(Index{1} << 31, Index{1} << 31), Index{1} << 62);
}

TEST(CheckedProduct, RefusesOverflowAndNegativeFactors) {
    EXPECT_EQ(message([] { checked_product(Index{1} << 32, Index{1} << 31); }),
              "shape: 4294967296 x 2147483648 elements; expected sizes of at least 0 and fewer than 2^63 elements");
    EXPECT_THROW(checked_product(largest, 2), InputError);
    EXPECT_THROW(checked_product(-1, 5), InputError);
    EXPECT_THROW(checked_product(5, -1), InputError);
    EXPECT_THROW(checked_product(-2, -3), InputError);
}

TEST(Shape, KnowsOrderSizesAndElements) {
    const Shape shape{200, 30, 7};
    EXPECT_EQ(shape.order(), 3);
    EXPECT_EQ(shape[0], 200);
    EXPECT_EQ(shape[2], 7);
    EXPECT_EQ(shape.size(), 42000);
    EXPECT_EQ(shape.to_string(), "200x30x7");
}

TEST(Shape, ScalarHasOneElement) {
    const Shape scalar;
    EXPECT_EQ(scalar.order(), 0);
    EXPECT_EQ(scalar.size(), 1);
    EXPECT_EQ(scalar.to_string(), "scalar");
    EXPECT_EQ(scalar.offset(std::vector<Index>{}), 0);
    EXPECT_TRUE(scalar.indices(0).empty());
}

TEST(Shape, AZeroModeMakesItEmpty) {
    const Shape shape{3, 0, 5};
    EXPECT_EQ(shape.size(), 0);
    EXPECT_EQ(shape.product(0, 1), 3);
    EXPECT_EQ(shape.product(2, 3), 5);
    EXPECT_EQ(shape.product(0, 2), 0);
}

TEST(Shape, ProductOfNoModesIsOne) {
    const Shape shape{4, 5};
    for (Index n = 0; n <= 2; ++n) EXPECT_EQ(shape.product(n, n), 1);
}

TEST(Shape, ProductsOfThePartsMultiplyToTheSize) {
    const Shape shape{2, 3, 5, 7};
    for (Index n = 0; n <= shape.order(); ++n) {
        EXPECT_EQ(shape.product(0, n) * shape.product(n, shape.order()), shape.size());
    }
}

TEST(Shape, RefusesNegativeSizesAndNamesTheMode) {
    EXPECT_EQ(message([] { Shape({3, -2}); }), "shape: mode 2 has size -2; expected sizes of at least 0");
    EXPECT_THROW(Shape({std::numeric_limits<Index>::min()}), InputError);
}

TEST(Shape, RefusesOverflow) {
    EXPECT_EQ(Shape({largest}).size(), largest);
    EXPECT_THROW(Shape({largest, 2}), InputError);
    EXPECT_THROW(Shape({Index{1} << 21, Index{1} << 21, Index{1} << 21}), InputError);
}

TEST(Shape, AZeroModeDoesNotHideAnOverflow) {
    EXPECT_THROW(Shape({largest, 0, 2}), InputError);
    EXPECT_THROW(Shape({0, largest, 2}), InputError);
}

TEST(Shape, OffsetIsRowMajor) {
    const Shape shape{2, 3, 5};
    EXPECT_EQ(shape.offset(std::vector<Index>{0, 0, 1}), 1);
    EXPECT_EQ(shape.offset(std::vector<Index>{0, 1, 0}), 5);
    EXPECT_EQ(shape.offset(std::vector<Index>{1, 0, 0}), 15);
}

TEST(Shape, OffsetAndIndicesAreInverse) {
    for (const Shape& shape : {Shape{1}, Shape{7}, Shape{2, 3, 5}, Shape{4, 1, 3, 1}, Shape{13, 11}}) {
        for (Index k = 0; k < shape.size(); ++k) {
            const auto indices = shape.indices(k);
            ASSERT_EQ(static_cast<Index>(indices.size()), shape.order());
            ASSERT_EQ(shape.offset(indices), k) << shape.to_string();
        }
    }
}

TEST(Shape, OffsetRefusesBadIndices) {
    const Shape shape{2, 3};
    EXPECT_EQ(message([&] {
                  (void)shape.offset(std::vector<Index>{0, 3});
              }),
              "index: 3 in mode 2; expected at least 0 and below 3 for shape 2x3");
    EXPECT_EQ(message([&] { (void)shape.offset(std::vector<Index>{0}); }),
              "index: 1 indices; expected 2 for a tensor of shape 2x3");
    EXPECT_THROW((void)shape.offset(std::vector<Index>{-1, 0}), InputError);
    EXPECT_THROW((void)Shape({0}).offset(std::vector<Index>{0}), InputError);
}

TEST(Shape, IndicesRefusesOffsetsOutside) {
    EXPECT_EQ(message([] {
                  (void)Shape({2, 3}).indices(6);
              }),
              "offset: 6; expected at least 0 and below 6 for shape 2x3");
    EXPECT_THROW((void)Shape({2, 3}).indices(-1), InputError);
    EXPECT_THROW((void)Shape({2, 0}).indices(0), InputError);
}

TEST(Shape, EqualityComparesSizesOfEveryMode) {
    EXPECT_EQ((Shape{2, 3}), (Shape{2, 3}));
    EXPECT_NE((Shape{2, 3}), (Shape{3, 2}));
    EXPECT_NE((Shape{6}), (Shape{2, 3}));
    EXPECT_NE((Shape{6}), (Shape{6, 1}));
}

}  // namespace
}  // namespace couplet
