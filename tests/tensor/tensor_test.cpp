#include "couplet/tensor/tensor.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <numeric>

#include "couplet/core/error.hpp"

namespace couplet {
namespace {

template <Real T>
Tensor<T> counting(const Shape& shape) {
    Tensor<T> result(shape);
    std::iota(result.data(), result.data() + result.size(), T(0));
    return result;
}

std::string message(const std::function<void()>& action) {
    try {
        action();
    } catch (const InputError& error) {
        return error.what();
    }
    return "nothing was thrown";
}

template <class T>
class TensorOf : public testing::Test {};
using Elements = testing::Types<float, double>;
TYPED_TEST_SUITE(TensorOf, Elements);

TYPED_TEST(TensorOf, UnfoldingsAreViewsWithModesSplitAtN) {
    auto x = counting<TypeParam>({2, 3, 5});
    const auto view = x.view();
    for (Index n = 0; n <= 3; ++n) {
        const MatrixView<TypeParam> unfolding = view.unfold(n);
        EXPECT_EQ(unfolding.data, x.data());
        EXPECT_EQ(unfolding.rows, x.shape().product(0, n));
        EXPECT_EQ(unfolding.cols, x.shape().product(n, 3));
        EXPECT_EQ(unfolding.stride, unfolding.cols);
    }
    for (Index i = 0; i < 2; ++i) {
        for (Index j = 0; j < 3; ++j) {
            for (Index k = 0; k < 5; ++k) {
                const TypeParam& element = view.at(std::vector<Index>{i, j, k});
                EXPECT_EQ(&view.unfold(1)(i, j * 5 + k), &element);
                EXPECT_EQ(&view.unfold(2)(i * 3 + j, k), &element);
            }
        }
    }
}

TYPED_TEST(TensorOf, RowsIsAViewOfARangeOfTheFirstMode) {
    auto x = counting<TypeParam>({4, 3, 2});
    const auto part = x.view().rows(1, 2);
    EXPECT_EQ(part.shape(), (Shape{2, 3, 2}));
    EXPECT_EQ(part.data(), x.data() + 6);
    EXPECT_EQ(part.at(std::vector<Index>{1, 2, 1}), x.view().at(std::vector<Index>{2, 2, 1}));
    EXPECT_EQ(x.view().rows(4, 0).size(), 0);
}

TYPED_TEST(TensorOf, RowsRefusesRangesOutside) {
    auto x = counting<TypeParam>({4, 3});
    constexpr Index largest = std::numeric_limits<Index>::max();
    EXPECT_EQ(message([&] { x.view().rows(3, 2); }),
              "rows: 2 rows from row 3; expected a range inside the first mode of shape 4x3");
    EXPECT_THROW(x.view().rows(-1, 2), InputError);
    EXPECT_THROW(x.view().rows(0, -1), InputError);
    EXPECT_THROW(x.view().rows(largest, largest), InputError);
    EXPECT_THROW(x.view().rows(1, largest), InputError);
    EXPECT_THROW(Tensor<TypeParam>(Shape{}).view().rows(0, 1), InputError);
}

TYPED_TEST(TensorOf, CopyOwnsItsElements) {
    auto x = counting<TypeParam>({3, 4});
    const auto y = Tensor<TypeParam>::copy(x.view().rows(1, 2));
    x.data()[4] = -1;
    EXPECT_EQ(y.shape(), (Shape{2, 4}));
    for (Index k = 0; k < 8; ++k) EXPECT_EQ(y.data()[k], static_cast<TypeParam>(k + 4));
}

TYPED_TEST(TensorOf, ZerosAreZeroAndTheDefaultIsEmpty) {
    const auto x = Tensor<TypeParam>::zeros({3, 5});
    EXPECT_EQ(x.elements().size(), 15U);
    for (const TypeParam value : x.elements()) EXPECT_EQ(value, 0);
    EXPECT_EQ(Tensor<TypeParam>().size(), 0);
}

TYPED_TEST(TensorOf, TakesOverABufferThatIsLargeEnough) {
    Buffer<TypeParam> buffer(7);
    const TypeParam* const memory = buffer.data();
    const Tensor<TypeParam> x({2, 3}, std::move(buffer));
    EXPECT_EQ(x.data(), memory);
    EXPECT_EQ(x.size(), 6);
    EXPECT_EQ(message([] {
                  Tensor<TypeParam>({2, 3}, Buffer<TypeParam>(5));
              }),
              "tensor: a buffer of 5 elements; expected 6 for shape 2x3");
}

TYPED_TEST(TensorOf, AtChecksItsIndices) {
    auto x = counting<TypeParam>({2, 3});
    x.view().at(std::vector<Index>{1, 2}) = 50;
    EXPECT_EQ(x.data()[5], 50);
    EXPECT_THROW(x.view().at(std::vector<Index>{2, 0}), InputError);
    EXPECT_THROW(x.view().at(std::vector<Index>{0}), InputError);
}

// The scan works in blocks of 4096: a bad value first, last, and around each block's edge must be found.
TYPED_TEST(TensorOf, FindNonFiniteFindsTheFirstWhereverItIs) {
    using Limits = std::numeric_limits<TypeParam>;
    for (const std::size_t size : {1U, 7U, 4095U, 4096U, 4097U, 8193U}) {
        std::vector<TypeParam> values(size, TypeParam(1));
        EXPECT_EQ(find_non_finite<TypeParam>(values), std::nullopt);
        for (const std::size_t at : {std::size_t{0}, size / 2, size - 1}) {
            for (const TypeParam bad : {Limits::quiet_NaN(), Limits::infinity(), -Limits::infinity()}) {
                values[at] = bad;
                EXPECT_EQ(find_non_finite<TypeParam>(values), static_cast<Index>(at)) << size;
            }
            values[at] = 1;
        }
    }
}

TYPED_TEST(TensorOf, FindNonFiniteReportsTheEarliestOfSeveral) {
    using Limits = std::numeric_limits<TypeParam>;
    std::vector<TypeParam> values(10000, TypeParam(0));
    values[9000] = Limits::quiet_NaN();
    values[5000] = -Limits::infinity();
    values[4999] = Limits::infinity();
    EXPECT_EQ(find_non_finite<TypeParam>(values), 4999);
}

TYPED_TEST(TensorOf, ExtremeFiniteValuesAreFinite) {
    using Limits = std::numeric_limits<TypeParam>;
    const std::vector<TypeParam> values{Limits::max(), Limits::lowest(), Limits::min(), Limits::denorm_min(),
                                        -0.0F,         Limits::max()};
    EXPECT_EQ(find_non_finite<TypeParam>(values), std::nullopt);
    EXPECT_EQ(find_non_finite<TypeParam>({}), std::nullopt);
}

TYPED_TEST(TensorOf, ConvertKeepsTheShapeAndRoundsTheElements) {
    auto x = counting<TypeParam>({2, 3, 4});
    x.data()[5] = TypeParam(0.1);
    const auto single = convert<float>(x.view());
    const auto wide = convert<double>(single.view());
    EXPECT_EQ(single.shape(), x.shape());
    EXPECT_EQ(wide.shape(), x.shape());
    for (Index i = 0; i < x.size(); ++i) {
        EXPECT_EQ(single.data()[i], static_cast<float>(x.data()[i]));
        EXPECT_EQ(wide.data()[i], static_cast<double>(single.data()[i]));
    }
}

TYPED_TEST(TensorOf, RequireNoInfinityLetsNaNPass) {
    using Limits = std::numeric_limits<TypeParam>;
    auto x = counting<TypeParam>({2, 3, 4});
    const auto check = [&] { require_no_infinity<TypeParam>(x.view(), "x.npy"); };
    x.view().at(std::vector<Index>{0, 0, 1}) = Limits::quiet_NaN();
    EXPECT_NO_THROW(check());
    x.view().at(std::vector<Index>{1, 2, 3}) = Limits::infinity();
    x.view().at(std::vector<Index>{1, 0, 2}) = -Limits::infinity();
    EXPECT_EQ(message(check),
              "x.npy: -Inf at index (1, 0, 2), counted from 0; expected finite numbers, or NaN for what is not known. "
              "Only NaN stands for a missing entry.");
}

TYPED_TEST(TensorOf, RequireFiniteNamesWhereAndTheIndex) {
    auto x = counting<TypeParam>({2, 3, 4});
    const auto check = [&] { require_finite<TypeParam>(x.view(), "x.npy"); };
    EXPECT_NO_THROW(check());
    x.view().at(std::vector<Index>{1, 2, 3}) = std::numeric_limits<TypeParam>::infinity();
    EXPECT_EQ(message(check),
              "x.npy: Inf at index (1, 2, 3), counted from 0; expected finite numbers only. "
              "Replace infinite values; NaN stands for a missing one.");
    x.view().at(std::vector<Index>{1, 0, 2}) = -std::numeric_limits<TypeParam>::infinity();
    EXPECT_EQ(message(check),
              "x.npy: -Inf at index (1, 0, 2), counted from 0; expected finite numbers only. "
              "Replace infinite values; NaN stands for a missing one.");
    x.view().at(std::vector<Index>{0, 1, 0}) = std::numeric_limits<TypeParam>::quiet_NaN();
    EXPECT_EQ(message(check),
              "x.npy: NaN at index (0, 1, 0), counted from 0; expected finite numbers only. "
              "Replace or remove missing values first.");
}

TEST(Labels, FitWhenEmptyOrOnePerModeAndIndex) {
    const Shape shape{2, 3};
    EXPECT_NO_THROW(check_labels({}, shape));
    EXPECT_NO_THROW(check_labels({{"patient", {}}, {"test", {"a", "b", "c"}}}, shape));
    EXPECT_NO_THROW(check_labels({{"", {"p", "q"}}, {"", {}}}, shape));
}

TEST(Labels, AreRefusedWhenTheirNumberDoesNotFit) {
    const Shape shape{2, 3};
    EXPECT_EQ(message([&] {
                  check_labels({{"patient", {}}}, shape);
              }),
              "labels: 1 modes named; expected 2 for shape 2x3");
    EXPECT_EQ(message([&] {
                  check_labels({{"patient", {}}, {"test", {"a", "b"}}}, shape);
              }),
              "labels: 2 labels in mode 2; expected 3 for shape 2x3");
}

TEST(Labels, TravelWithTheTensorAndARefusedSetChangesNothing) {
    auto x = Tensor<double>::zeros({2, 2});
    const Labels labels{{"patient", {"p", "q"}}, {"test", {}}};
    x.set_labels(labels);
    EXPECT_THROW(x.set_labels({{"patient", {"p"}}, {"test", {}}}), InputError);
    EXPECT_EQ(x.labels(), labels);
    const Tensor<double> moved = std::move(x);
    EXPECT_EQ(moved.labels(), labels);
}

}  // namespace
}  // namespace couplet
