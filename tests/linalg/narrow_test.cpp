#include "narrow.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "couplet/core/random.hpp"
#include "couplet/linalg/products.hpp"
#include "couplet/linalg/reference.hpp"
#include "simd.hpp"

namespace couplet {
namespace {

Matrix<double> random_rows(Index rows, Index cols) {
    Random random(7);
    Matrix<double> a(rows, cols);
    for (Index i = 0; i < a.size(); ++i) a.data()[i] = random.normal();
    return a;
}

TEST(Narrow, TakesUpTo64Columns) {
    for (const Index cols : {1, 7, 8, 9, 32, 33, 64}) EXPECT_TRUE(is_narrow(cols)) << cols;
    for (const Index cols : {0, 65, 1000}) EXPECT_FALSE(is_narrow(cols)) << cols;
}

TEST(Narrow, GramEqualsTheReference) {
    for (const Index cols : {1, 2, 7, 8, 9, 16, 23, 24, 32, 33, 50, 63, 64}) {
        for (const Index rows : {1, 7, 47, 48, 49, 127, 384, 385, 1000}) {
            const auto a = random_rows(rows, cols);
            const auto expected = reference::multiply(transpose(a.view()).view(), a.view());
            Matrix<double> g(cols, cols);
            narrow_gram(a.view(), g.view(), true);
            for (Index i = 0; i < cols; ++i) {
                for (Index j = i; j < cols; ++j) {
                    EXPECT_NEAR(g(i, j), expected(i, j), 1e-14 * static_cast<double>(rows + 10)) << rows << 'x' << cols;
                }
            }
        }
    }
}

TEST(Narrow, GramOfPartsOfRowsAddsUp) {
    const auto a = random_rows(301, 40);
    const auto part = a.view().cols_from(3, 21);  // rows further apart than they are long
    const auto copy = Matrix<double>::copy(part);
    const auto expected = reference::multiply(transpose(copy.view()).view(), copy.view());
    Matrix<double> g(21, 21);
    narrow_gram(part.rows_from(0, 100), g.view(), true);
    narrow_gram(part.rows_from(100, 201), g.view(), false);
    for (Index i = 0; i < 21; ++i) {
        for (Index j = i; j < 21; ++j) EXPECT_NEAR(g(i, j), expected(i, j), 1e-11);
    }
}

TEST(Low, GramEqualsTheReference) {
    for (const Index rows : {1, 2, 3, 4, 5, 8, 31, 50, 63, 64}) {
        for (const Index cols : {1, 7, 8, 9, 600, 1023, 1024, 1025, 2500}) {
            const auto a = random_rows(rows, cols);
            const auto expected = reference::multiply(a.view(), transpose(a.view()).view());
            Matrix<double> g(rows, rows);
            low_gram(a.view(), g.view(), true);
            for (Index i = 0; i < rows; ++i) {
                for (Index j = i; j < rows; ++j) {
                    EXPECT_NEAR(g(i, j), expected(i, j), 1e-14 * static_cast<double>(cols + 10)) << rows << 'x' << cols;
                }
            }
        }
    }
}

TEST(Low, GramOfPartsOfColumnsAddsUp) {
    const auto a = random_rows(21, 301);
    const auto expected = reference::multiply(a.view(), transpose(a.view()).view());
    Matrix<double> g(21, 21);
    low_gram(a.view().cols_from(0, 100), g.view(), true);
    low_gram(a.view().cols_from(100, 201), g.view(), false);
    for (Index i = 0; i < 21; ++i) {
        for (Index j = i; j < 21; ++j) EXPECT_NEAR(g(i, j), expected(i, j), 1e-11);
    }
}

TEST(Low, ImageEqualsTheReference) {
    for (const Index rows : {1, 2, 3, 4, 5, 16, 31, 64}) {
        for (const Index rank : {1, 2, 3, 4, 5, 10, 16}) {
            for (const Index cols : {1, 7, 8, 129, 511, 520, 1030}) {
                const auto a = random_rows(rows, cols + 5);
                const auto part = a.view().cols_from(3, cols);  // rows further apart than they are long
                const auto v = random_rows(rows, rank);
                const auto expected =
                    reference::multiply(transpose(v.view()).view(), Matrix<double>::copy(part).view());
                auto room = Matrix<double>::zeros(rank + 1, cols + 2);
                const auto c = room.view().rows_from(0, rank).cols_from(0, cols);
                low_image(v.view(), part, c);
                for (Index i = 0; i < rank; ++i) {
                    for (Index j = 0; j < cols; ++j)
                        EXPECT_NEAR(c(i, j), expected(i, j), 1e-13) << rows << ' ' << rank << ' ' << cols;
                }
                for (Index j = 0; j < cols + 2; ++j) EXPECT_EQ(room(rank, j), 0);  // nothing beyond it is written
                for (Index i = 0; i < rank; ++i) EXPECT_EQ(room(i, cols), 0);
            }
        }
    }
}

TEST(Low, ImageOfInfinityIsInfinityAndNaNStays) {
    for (const Index rows : {3, 4, 5, 6, 7}) {
        for (const double odd : {std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()}) {
            const auto v = random_rows(rows, 2);
            auto a = random_rows(rows, 67);
            a(rows - 1, 3) = odd;
            Matrix<double> c(2, 67);
            low_image(v.view(), a.view(), c.view());
            for (Index j = 0; j < 67; ++j) EXPECT_EQ(std::isfinite(c(0, j)), j != 3) << rows;
            EXPECT_EQ(std::isnan(c(1, 3)), std::isnan(odd)) << rows;
        }
    }
}

TEST(Low, ServesGramAndProductOfLongRows) {
    for (const Index rows : {16, 32}) {
        const auto a = random_rows(rows, Index{1} << 16);  // rows that meet in the cache
        const auto g = gram<double>(a.view(), Side::left);
        const auto expected = reference::multiply(a.view(), transpose(a.view()).view());
        for (Index i = 0; i < rows; ++i) {
            for (Index j = 0; j < rows; ++j) EXPECT_NEAR(g(i, j), expected(i, j), 1e-8);
        }
        const auto v = random_rows(rows, 7);
        const auto c = product<double>(v.view(), a.view(), Op::transpose);
        const auto image = reference::multiply(transpose(v.view()).view(), a.view());
        for (Index i = 0; i < 7; ++i) {
            for (Index j = 0; j < a.cols(); j += 997) EXPECT_NEAR(c(i, j), image(i, j), 1e-12);
        }
    }
}

TEST(Low, IsForFewRowsOnly) {
    EXPECT_FALSE(is_low_image(65, 1));
    EXPECT_FALSE(is_low_image(16, 17));
    EXPECT_EQ(is_low_image(16, 10), simd_level() == SimdLevel::avx512);
    EXPECT_FALSE(is_low(0));
    EXPECT_FALSE(is_low(65));
    EXPECT_EQ(is_low(50), simd_level() == SimdLevel::avx512);
}

TEST(Narrow, TimesVectorEqualsTheReference) {
    for (const Index cols : {1, 5, 8, 16, 24, 31, 32, 64}) {
        const auto a = random_rows(131, cols);
        const auto v = random_rows(cols, 1);
        const auto expected = reference::multiply(a.view(), v.view());
        std::vector<double> y(131);
        narrow_times_vector(a.view(), v.data(), y.data());
        for (Index i = 0; i < 131; ++i) EXPECT_NEAR(y[static_cast<std::size_t>(i)], expected(i, 0), 1e-13);
    }
}

TEST(Narrow, ServesGramAndProductOfTallMatrices) {
    const auto a = random_rows(200'003, 16);
    const auto expected = reference::multiply(transpose(a.view()).view(), a.view());
    const auto g = gram<double>(a.view(), Side::right);
    for (Index i = 0; i < 16; ++i) {
        for (Index j = 0; j < 16; ++j) EXPECT_NEAR(g(i, j), expected(i, j), 1e-8);
    }
    const auto v = random_rows(16, 1);
    const auto y = product<double>(a.view(), v.view());
    const auto z = reference::multiply(a.view(), v.view());
    for (Index i = 0; i < a.rows(); i += 997) EXPECT_NEAR(y(i, 0), z(i, 0), 1e-13);
}

}  // namespace
}  // namespace couplet
