#include "narrow.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "couplet/core/random.hpp"
#include "couplet/linalg/products.hpp"
#include "couplet/linalg/reference.hpp"

namespace couplet {
namespace {

Matrix<double> random_rows(Index rows, Index cols) {
    Random random(7);
    Matrix<double> a(rows, cols);
    for (Index i = 0; i < a.size(); ++i) a.data()[i] = random.normal();
    return a;
}

TEST(Narrow, TakesMultiplesOfEightUpTo32) {
    for (const Index cols : {8, 16, 24, 32}) EXPECT_TRUE(is_narrow(cols)) << cols;
    for (const Index cols : {0, 1, 7, 9, 31, 33, 40}) EXPECT_FALSE(is_narrow(cols)) << cols;
}

TEST(Narrow, GramEqualsTheReference) {
    for (const Index cols : {8, 16, 24, 32}) {
        for (const Index rows : {1, 7, 127, 128, 129, 1000}) {
            const auto a = random_rows(rows, cols);
            const auto expected = reference::multiply(transpose(a.view()).view(), a.view());
            Matrix<double> g(cols, cols);
            narrow_gram(a.view(), g.data());
            for (Index i = 0; i < cols; ++i) {
                for (Index j = i; j < cols; ++j) {
                    EXPECT_NEAR(g(i, j), expected(i, j), 1e-14 * static_cast<double>(rows + 10)) << rows << 'x' << cols;
                }
            }
        }
    }
}

TEST(Narrow, TimesVectorEqualsTheReference) {
    for (const Index cols : {8, 16, 24, 32}) {
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
