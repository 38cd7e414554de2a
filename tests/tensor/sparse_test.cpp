#include "couplet/tensor/sparse.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "couplet/core/error.hpp"

namespace couplet {
namespace {

TEST(SparseTensor, SortsAddsEqualEntriesAndDropsZeros) {
    const std::vector<Index> indices{1, 2, 0, 1, 1, 2, 1, 0, 1, 0};
    const SparseTensor x({2, 3}, indices, {3, 5, -1, 4, -4});
    EXPECT_EQ(x.count(), 2);
    EXPECT_EQ(std::vector<Index>(x.offsets().begin(), x.offsets().end()), (std::vector<Index>{1, 5}));
    EXPECT_EQ(std::vector<double>(x.values().begin(), x.values().end()), (std::vector<double>{5, 2}));
    const auto dense = x.full();
    EXPECT_EQ(std::vector<double>(dense.elements().begin(), dense.elements().end()),
              (std::vector<double>{0, 5, 0, 0, 0, 2}));
    EXPECT_EQ(SparseTensor::of(dense.view()).count(), 2);
}

/// Equal entries are added in the order given, however they are sorted.
TEST(SparseTensor, AddsInTheOrderGiven) {
    const std::vector<Index> indices{1, 0, 1, 0, 1};
    const SparseTensor x({2}, indices, {1e16, 1, 1, 1, -1e16});
    EXPECT_EQ(x.values()[1], (1e16 + 1) - 1e16);
}

TEST(SparseTensor, TakesRows) {
    const std::vector<Index> indices{0, 1, 2, 0, 2, 1, 3, 1};
    SparseTensor x({4, 2}, indices, {1, 2, 3, 4});
    const auto part = x.rows(2, 1);
    EXPECT_EQ(part.shape(), (Shape{1, 2}));
    EXPECT_EQ(std::vector<Index>(part.offsets().begin(), part.offsets().end()), (std::vector<Index>{0, 1}));
    EXPECT_EQ(x.rows(1, 1).count(), 0);
    EXPECT_THROW(x.rows(3, 2), InputError);
    EXPECT_THROW(x.rows(0, -1), InputError);
}

TEST(SparseTensor, RefusesWhatDoesNotFit) {
    const std::vector<Index> outside{0, 3};
    EXPECT_THROW(SparseTensor({2, 3}, outside, {1}), InputError);
    EXPECT_THROW(SparseTensor({2, 3}, outside, {1, 2}), InputError);
    const std::vector<Index> negative{-1, 0};
    EXPECT_THROW(SparseTensor({2, 3}, negative, {1}), InputError);
    SparseTensor x({2}, std::vector<Index>{1}, {1});
    EXPECT_THROW(x.set_labels({{.name = "a", .entries = {"one"}}}), InputError);
}

TEST(SparseTensor, NamesWhatIsNotFinite) {
    const SparseTensor x({2, 3}, std::vector<Index>{0, 0, 1, 2}, {1, std::numeric_limits<double>::quiet_NaN()});
    try {
        require_finite(x, "a.tns");
        FAIL();
    } catch (const InputError& error) {
        EXPECT_NE(std::string(error.what()).find("NaN at index (1, 2)"), std::string::npos) << error.what();
    }
}

}  // namespace
}  // namespace couplet
