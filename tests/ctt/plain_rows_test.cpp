#include "plain_rows.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "matrices.hpp"

namespace couplet {
namespace {

using namespace support;

TEST(PlainRows, ProductIsTheProduct) {
    for (const Index n : {1, 7, 8, 9, 31}) {
        const auto a = random_matrix<double>(5, 3, 1);
        const auto b = random_matrix<double>(3, n, 2);
        EXPECT_LE(naive_distance(plain_product(a.view(), b.view()).view(), naive_product(a.view(), b.view()).view()),
                  1e-13);
    }
}

TEST(PlainRows, FactorsGiveTheRowsBack) {
    for (const Index rows : {1, 2, 5, 13}) {
        for (const Index cols : {1, 4, 13, 40}) {
            const auto m = random_matrix<double>(rows, cols, 3);
            const auto factors = factor_rows(m.view());
            EXPECT_EQ(factors.q.rows(), std::min(rows, cols));
            EXPECT_LE(naive_distance(naive_product(factors.l.view(), factors.q.view()).view(), m.view()), 1e-12);
            const auto gram = naive_product(factors.q.view(), factors.q.view(), Op::none, Op::transpose);
            EXPECT_LE(naive_distance(gram.view(), Matrix<double>::identity(factors.q.rows()).view()), 1e-13);
        }
    }
}

TEST(PlainRows, RowsThatOthersSpanAddNone) {
    auto m = random_matrix<double>(4, 9, 4);
    for (Index j = 0; j < 9; ++j) {
        m(1, j) = 0;
        m(2, j) = -3 * m(0, j);
    }
    const auto factors = factor_rows(m.view());
    EXPECT_EQ(factors.q.rows(), 2);
    EXPECT_LE(naive_distance(naive_product(factors.l.view(), factors.q.view()).view(), m.view()), 1e-12);
    EXPECT_EQ(factor_rows(Matrix<double>::zeros(2, 3).view()).q.rows(), 0);
}

TEST(PlainRows, NormOfARow) {
    const std::vector<double> row = {3, 0, 0, 0, 0, 0, 0, 0, 0, 4};
    EXPECT_EQ(plain_norm(row.data(), 10), 5);
    EXPECT_EQ(plain_norm(row.data(), 0), 0);
}

}  // namespace
}  // namespace couplet
