#include "plain.hpp"

#include <cmath>
#include <utility>

#include "matrices.hpp"
#include "models_test_support.hpp"

namespace couplet::testing {
namespace {

TEST(PlainTest, ProductsAreTheNaiveOnesToTheBit) {
    for (const auto& [m, k, n] :
         {std::tuple<Index, Index, Index>{1, 1, 1}, {4, 7, 8}, {5, 3, 9}, {13, 11, 17}, {3, 0, 2}}) {
        const auto a = support::random_matrix<double>(m, k, 1);
        const auto b = support::random_matrix<double>(k, n, 2);
        const auto c = plain::product(a.view(), b.view());
        const auto turned = plain::turned_product(transpose(a.view()).view(), b.view());
        for (Index i = 0; i < m; ++i) {
            for (Index j = 0; j < n; ++j) {
                volatile double sum = 0;  // each product rounded, then each sum: nothing fused
                for (Index p = 0; p < k; ++p) {
                    volatile double term = a(i, p) * b(p, j);
                    sum = sum + term;
                }
                EXPECT_EQ(c(i, j), sum) << m << " " << k << " " << n;
                EXPECT_EQ(turned(i, j), sum);
            }
        }
    }
}

TEST(PlainTest, EigenvectorsDiagonalise) {
    const auto a = support::gram_with_spectrum({3, 2, 2, 0.5, 0}, 9);
    const auto found = plain::eigen(a.view());
    EXPECT_NEAR(found.values[0], 9, 1e-12);
    EXPECT_NEAR(found.values[3], 0.25, 1e-12);
    EXPECT_NEAR(found.values[8], 0, 1e-12);
    EXPECT_LT(support::orthonormality_residual(found.vectors.view()), 50);
    const auto root = plain::power(found, 0.5);
    EXPECT_LT(support::naive_distance(plain::product(root.view(), root.view()).view(), a.view()), 1e-11);
    const auto inverse = plain::power(found, -1);
    const auto again = plain::product(plain::product(a.view(), inverse.view()).view(), a.view());
    EXPECT_LT(support::naive_distance(again.view(), a.view()), 1e-10) << "of its range";
}

TEST(PlainTest, DivisionSolvesAndLeavesOutWhatIsNotThere) {
    const auto x = support::random_matrix<double>(6, 4, 3);
    const auto a = support::gram_with_spectrum({3, 2, 1, 0.5}, 4);
    const auto y = plain::divide(plain::product(x.view(), a.view()).view(), a.view());
    EXPECT_LT(support::naive_distance(y.view(), x.view()), 1e-12);
    auto gram = Matrix<double>::zeros(2, 2);
    gram(0, 0) = 4;
    auto right = Matrix<double>::zeros(1, 2);
    right(0, 0) = 8;
    right(0, 1) = 1;
    const auto rest = plain::divide(right.view(), gram.view());
    EXPECT_EQ(rest(0, 0), 2);
    EXPECT_EQ(rest(0, 1), 0);
}

TEST(PlainTest, DependentColumnsBecomeZero) {
    auto columns = support::random_matrix<double>(7, 3, 4);
    for (Index i = 0; i < 7; ++i) columns(i, 2) = 2 * columns(i, 0) - columns(i, 1);
    plain::orthonormalise(columns);
    const auto gram = plain::turned_product(columns.view(), columns.view());
    EXPECT_NEAR(gram(0, 0), 1, 1e-14);
    EXPECT_NEAR(gram(0, 1), 0, 1e-14);
    EXPECT_EQ(gram(2, 2), 0);
}

}  // namespace
}  // namespace couplet::testing
