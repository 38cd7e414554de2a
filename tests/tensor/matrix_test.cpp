#include "couplet/tensor/matrix.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <numeric>

#include "couplet/core/error.hpp"

namespace couplet {
namespace {

template <Real T>
Matrix<T> counting(Index rows, Index cols) {
    Matrix<T> result(rows, cols);
    std::iota(result.data(), result.data() + result.size(), T(1));
    return result;
}

TEST(MatrixView, IndexesWithItsStride) {
    auto matrix = counting<double>(4, 5);
    const MatrixView<double> inner(matrix.data() + 6, 2, 3, 5);
    EXPECT_EQ(inner(0, 0), matrix(1, 1));
    EXPECT_EQ(inner(1, 2), matrix(2, 3));
    EXPECT_EQ(inner.row(1), &matrix(2, 1));
    EXPECT_EQ(inner.size(), 6);
    inner(1, 0) = -1;
    EXPECT_EQ(matrix(2, 1), -1);
}

TEST(MatrixView, PartsOfPartsAreViewsOfTheSameMemory) {
    auto matrix = counting<float>(6, 7);
    const MatrixView<float> part = matrix.view().rows_from(1, 4).cols_from(2, 3);
    EXPECT_EQ(part.rows, 4);
    EXPECT_EQ(part.cols, 3);
    EXPECT_EQ(part.stride, 7);
    for (Index i = 0; i < 4; ++i) {
        for (Index j = 0; j < 3; ++j) EXPECT_EQ(&part(i, j), &matrix(i + 1, j + 2));
    }
}

TEST(MatrixView, AWritableViewIsAlsoAReadOnlyOne) {
    auto matrix = counting<double>(2, 3);
    const MatrixView<const double> view = matrix.view().cols_from(1, 2);
    EXPECT_EQ(view.data, matrix.data() + 1);
    EXPECT_EQ(view.stride, 3);
    static_assert(!std::is_convertible_v<MatrixView<const double>, MatrixView<double>>);
}

template <class T>
class MatrixOf : public testing::Test {};
using Elements = testing::Types<float, double>;
TYPED_TEST_SUITE(MatrixOf, Elements);

TYPED_TEST(MatrixOf, ZerosAndIdentity) {
    const auto zeros = Matrix<TypeParam>::zeros(3, 2);
    for (Index k = 0; k < zeros.size(); ++k) EXPECT_EQ(zeros.data()[k], 0);
    const auto identity = Matrix<TypeParam>::identity(4);
    for (Index i = 0; i < 4; ++i) {
        for (Index j = 0; j < 4; ++j) EXPECT_EQ(identity(i, j), i == j ? 1 : 0);
    }
}

TYPED_TEST(MatrixOf, CopyPacksAStridedView) {
    auto source = counting<TypeParam>(5, 6);
    const auto copy = Matrix<TypeParam>::copy(source.view().rows_from(1, 3).cols_from(2, 2));
    ASSERT_EQ(copy.rows(), 3);
    ASSERT_EQ(copy.cols(), 2);
    for (Index i = 0; i < 3; ++i) {
        for (Index j = 0; j < 2; ++j) EXPECT_EQ(copy(i, j), source(i + 1, j + 2));
    }
    source(1, 2) = 0;
    EXPECT_NE(copy(0, 0), 0);
}

// The tile of the transpose is 32: sizes 1, primes, and one around each multiple of it.
TYPED_TEST(MatrixOf, TransposeSwapsIndicesForEverySizeAroundTheTile) {
    const Index sizes[] = {0, 1, 2, 7, 31, 32, 33, 61, 64, 65, 97};
    for (const Index rows : sizes) {
        for (const Index cols : sizes) {
            const auto a = counting<TypeParam>(rows, cols);
            const auto t = transpose(a.view());
            ASSERT_EQ(t.rows(), cols);
            ASSERT_EQ(t.cols(), rows);
            for (Index i = 0; i < rows; ++i) {
                for (Index j = 0; j < cols; ++j) ASSERT_EQ(t(j, i), a(i, j)) << rows << "x" << cols;
            }
        }
    }
}

TYPED_TEST(MatrixOf, TransposeOfAStridedViewSkipsWhatIsOutside) {
    const auto a = counting<TypeParam>(40, 50);
    const auto t = transpose(a.view().rows_from(3, 33).cols_from(5, 37));
    for (Index i = 0; i < 33; ++i) {
        for (Index j = 0; j < 37; ++j) ASSERT_EQ(t(j, i), a(i + 3, j + 5));
    }
}

TYPED_TEST(MatrixOf, ReshapeKeepsTheElementsInPlace) {
    auto a = counting<TypeParam>(4, 6);
    const TypeParam* const memory = a.data();
    a.reshape(3, 8);
    EXPECT_EQ(a.data(), memory);
    EXPECT_EQ(a(1, 0), 9);
    EXPECT_THROW(a.reshape(5, 5), InputError);
    EXPECT_THROW(a.reshape(-3, -8), InputError);
    EXPECT_EQ(a.rows(), 3);
}

TYPED_TEST(MatrixOf, AdoptAndReleaseMoveTheMemory) {
    Buffer<TypeParam> buffer(6);
    const TypeParam* const memory = buffer.data();
    auto a = Matrix<TypeParam>::adopt(std::move(buffer), 2, 3);
    EXPECT_EQ(a.data(), memory);
    const Buffer<TypeParam> back = std::move(a).release();
    EXPECT_EQ(back.data(), memory);
    EXPECT_EQ(a.size(), 0);  // NOLINT(bugprone-use-after-move): the state after a release is what is tested
}

TYPED_TEST(MatrixOf, AdoptRefusesABufferThatIsTooSmall) {
    EXPECT_THROW(Matrix<TypeParam>::adopt(Buffer<TypeParam>(5), 2, 3), InputError);
    EXPECT_THROW(Matrix<TypeParam>::adopt(Buffer<TypeParam>(5), -2, -3), InputError);
}

TYPED_TEST(MatrixOf, SizesThatOverflowOrAreNegativeAreRefused) {
    constexpr Index large = Index{1} << 40;
    EXPECT_THROW((Matrix<TypeParam>(large, large)), InputError);
    EXPECT_THROW((Matrix<TypeParam>(-1, 3)), InputError);
    EXPECT_THROW((Matrix<TypeParam>(-2, -3)), InputError);
}

TYPED_TEST(MatrixOf, LeadingColumnsCopiesThem) {
    const auto a = counting<TypeParam>(3, 5);
    const auto lead = leading_columns(a.view(), 2);
    ASSERT_EQ(lead.cols(), 2);
    for (Index i = 0; i < 3; ++i) {
        for (Index j = 0; j < 2; ++j) EXPECT_EQ(lead(i, j), a(i, j));
    }
    EXPECT_EQ(leading_columns(a.view(), 0).size(), 0);
    EXPECT_EQ(leading_columns(a.view(), 5).size(), 15);
    EXPECT_THROW(leading_columns(a.view(), 6), InputError);
    EXPECT_THROW(leading_columns(a.view(), -1), InputError);
}

TEST(Matrix, ConvertRoundsToTheOtherType) {
    Matrix<double> a(2, 2);
    a(0, 0) = 0.1;
    a(0, 1) = -2;
    a(1, 0) = 1e300;
    a(1, 1) = 1 + 0x1.0p-40;
    const auto single = convert<float>(a.view());
    EXPECT_EQ(single(0, 0), 0.1F);
    EXPECT_EQ(single(0, 1), -2.0F);
    EXPECT_EQ(single(1, 0), std::numeric_limits<float>::infinity());
    EXPECT_EQ(single(1, 1), 1.0F);
    const auto wide = convert<double>(single.view());
    EXPECT_EQ(wide(0, 0), static_cast<double>(0.1F));
}

TEST(Matrix, ConvertIntoWritesAPartOfAnotherMatrix) {
    const auto a = counting<float>(2, 2);
    auto b = Matrix<double>::zeros(4, 3);
    convert_into(a.view(), b.view().rows_from(1, 2).cols_from(1, 2));
    for (Index i = 0; i < 4; ++i) {
        for (Index j = 0; j < 3; ++j) {
            const bool inside = i >= 1 && i < 3 && j >= 1;
            EXPECT_EQ(b(i, j), inside ? static_cast<double>(a(i - 1, j - 1)) : 0) << i << ", " << j;
        }
    }
    const auto same = counting<double>(2, 3);
    convert_into(same.view(), b.view().rows_from(0, 2));
    EXPECT_EQ(b(1, 2), same(1, 2));
    EXPECT_THROW(convert_into(same.view(), b.view()), InputError);
    EXPECT_THROW(convert_into(same.view(), b.view().rows_from(0, 2).cols_from(0, 2)), InputError);
}

TEST(Matrix, TraceSumsTheDiagonalFromItsFirstElementOn) {
    const auto a = counting<double>(3, 4);
    EXPECT_EQ(trace(a.view().cols_from(0, 3)), a(0, 0) + a(1, 1) + a(2, 2));
    auto b = Matrix<double>::zeros(3, 3);
    b(0, 0) = 1;
    b(1, 1) = -1;
    b(2, 2) = 1e-17;
    EXPECT_EQ(trace(b.view()), 1e-17);
    EXPECT_EQ(trace(Matrix<float>::identity(5).view()), 5.0F);
    EXPECT_EQ(trace(Matrix<double>(0, 0).view()), 0);
    EXPECT_THROW(trace(a.view()), InputError);
}

TEST(Matrix, ConvertReadsAStridedView) {
    const auto a = counting<float>(3, 4);
    const auto wide = convert<double>(a.view().cols_from(1, 2));
    ASSERT_EQ(wide.cols(), 2);
    for (Index i = 0; i < 3; ++i) {
        for (Index j = 0; j < 2; ++j) EXPECT_EQ(wide(i, j), static_cast<double>(a(i, j + 1)));
    }
}

}  // namespace
}  // namespace couplet
