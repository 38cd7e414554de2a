#include "thin.hpp"

#include <gtest/gtest.h>

#include "couplet/linalg/products.hpp"
#include "matrices.hpp"

namespace couplet {
namespace {

using support::naive_product;
using support::random_matrix;

/// Sizes 1, primes and one past the rows that are taken at once.
const Index sizes[] = {1, 2, 7, 8, 9, 13, 24, 25};

TEST(ThinProduct, AgreesWithTheNaiveProduct) {
    for (const Index rows : sizes) {
        for (const Index depth : sizes) {
            const auto a = random_matrix<double>(rows, depth, 1);
            const auto b = random_matrix<double>(depth, thin_columns, 2);
            const auto expected = naive_product(a.view(), b.view(), Op::none, Op::none);
            Matrix<double> c(rows, thin_columns);
            thin_product({a.data(), 1, depth}, rows, depth, b.data(), c.data());
            EXPECT_LT(support::naive_distance(c.view(), expected.view()), 1e-13) << rows << " " << depth;
            // The same numbers from the transpose, whose rows are further apart than they are long.
            Matrix<double> wide(depth, rows + 3);
            for (Index i = 0; i < rows; ++i) {
                for (Index k = 0; k < depth; ++k) wide(k, i) = a(i, k);
            }
            thin_product({wide.data(), wide.cols(), 1}, rows, depth, b.data(), c.data());
            EXPECT_LT(support::naive_distance(c.view(), expected.view()), 1e-13) << rows << " " << depth;
        }
    }
}

TEST(ThinProduct, SubtractsFromWhatIsThere) {
    for (const Index rows : sizes) {
        const Index depth = 11;
        const auto a = random_matrix<double>(rows, depth, 3);
        const auto b = random_matrix<double>(depth, thin_columns, 4);
        auto c = random_matrix<double>(rows, thin_columns, 5);
        const auto before = Matrix<double>::copy(c.view());
        const auto expected = naive_product(a.view(), b.view(), Op::none, Op::none);
        subtract_thin({a.data(), 1, depth}, rows, depth, b.data(), c.data());
        for (Index i = 0; i < c.size(); ++i) {
            EXPECT_NEAR(c.data()[i], before.data()[i] - expected.data()[i], 1e-13);
        }
    }
}

TEST(ThinProduct, OfNothingIsZero) {
    Matrix<double> c(3, thin_columns);
    std::fill_n(c.data(), c.size(), 7.0);
    thin_product({nullptr, 1, 1}, 3, 0, nullptr, c.data());
    for (Index i = 0; i < c.size(); ++i) EXPECT_EQ(c.data()[i], 0);
}

}  // namespace
}  // namespace couplet
