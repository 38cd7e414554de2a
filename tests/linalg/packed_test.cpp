#include "packed.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "matrices.hpp"
#include "simd.hpp"

namespace couplet {
namespace {

using support::naive_product;
using support::random_matrix;

class Packed : public ::testing::Test {
  protected:
    void SetUp() override {
        if (simd_level() != SimdLevel::avx512) GTEST_SKIP() << "this processor has no 512-bit vectors";
    }
};

/// C <- alpha op(A) op(B) + beta C inside a larger matrix: every entry, and nothing beside them.
void check_gemm(bool ta, bool tb, Index m, Index n, Index k, double alpha, double beta) {
    SCOPED_TRACE(::testing::Message() << ta << tb << ' ' << m << 'x' << n << 'x' << k << ' ' << alpha << ' ' << beta);
    constexpr Index beside = 3;
    const auto a = random_matrix<double>((ta ? k : m), (ta ? m : k) + beside, 1);
    const auto b = random_matrix<double>((tb ? n : k), (tb ? k : n) + beside, 2);
    const auto before = random_matrix<double>(m, n + beside, 3);
    auto c = Matrix<double>::copy(before.view());
    if (beta == 0) {
        // What is not asked for is not read.
        for (Index i = 0; i < m; ++i) std::fill_n(c.view().row(i), n, std::numeric_limits<double>::quiet_NaN());
    }
    packed_gemm(ta, tb, m, n, k, alpha, a.data(), a.cols(), b.data(), b.cols(), beta, c.data(), c.cols());
    const auto expected = naive_product(a.view().cols_from(0, ta ? m : k), b.view().cols_from(0, tb ? k : n),
                                        ta ? Op::transpose : Op::none, tb ? Op::transpose : Op::none);
    const double bound = 1e-14 * (20 + static_cast<double>(k));
    for (Index i = 0; i < m; ++i) {
        for (Index j = 0; j < n; ++j) {
            ASSERT_NEAR(c(i, j), alpha * expected(i, j) + beta * before(i, j), bound) << i << ',' << j;
        }
        for (Index j = n; j < n + beside; ++j) ASSERT_EQ(c(i, j), before(i, j)) << i << ',' << j;
    }
}

TEST_F(Packed, ProductsOfEveryTranspositionAndTail) {
    for (const bool ta : {false, true}) {
        for (const bool tb : {false, true}) {
            for (const Index m : {32, 33, 39, 40}) {
                for (const Index n : {8, 9, 16, 24, 25, 31, 32, 33, 50}) check_gemm(ta, tb, m, n, 8 + n % 7, 1, 0);
            }
            check_gemm(ta, tb, 32, 17, 255, -1, 1);
            check_gemm(ta, tb, 41, 19, 256, 2, -0.5);
            check_gemm(ta, tb, 47, 20, 257, 1, 1);
            check_gemm(ta, tb, 35, 530, 700, 1, 1);  // several blocks of both
        }
    }
}

void check_syrk(bool right, Index n, Index k, double beta) {
    SCOPED_TRACE(::testing::Message() << right << ' ' << n << ' ' << k << ' ' << beta);
    const auto a = right ? random_matrix<double>(k, n + 2, 4) : random_matrix<double>(n, k + 2, 4);
    const auto data = a.view().cols_from(0, right ? n : k);
    const auto expected = naive_product(data, data, right ? Op::transpose : Op::none, right ? Op::none : Op::transpose);
    const auto before = random_matrix<double>(n, n, 5);
    auto c = Matrix<double>::copy(before.view());
    packed_syrk(right, n, k, a.data(), a.cols(), beta, c.data(), n);
    const double bound = 1e-14 * (20 + static_cast<double>(k));
    for (Index i = 0; i < n; ++i) {
        for (Index j = i; j < n; ++j) {
            ASSERT_NEAR(c(i, j), expected(i, j) + beta * before(i, j), bound) << i << ',' << j;
        }
    }
}

TEST_F(Packed, SymmetricProductsOfEveryTail) {
    for (const bool right : {false, true}) {
        for (const Index n : {32, 33, 40, 47, 64, 71, 100}) {
            for (const Index k : {8, 15, 256, 300}) check_syrk(right, n, k, k % 2 == 0 ? 0 : 1);
        }
        check_syrk(right, 530, 150, 1);
    }
}

TEST_F(Packed, NumbersThatAreNoneReachTheirOwnEntriesAlone) {
    auto a = random_matrix<double>(40, 64, 6);
    const auto b = random_matrix<double>(64, 20, 7);
    a(37, 5) = std::numeric_limits<double>::infinity();
    Matrix<double> c(40, 20);
    packed_gemm(false, false, 40, 20, 64, 1, a.data(), 64, b.data(), 20, 0, c.data(), 20);
    for (Index i = 0; i < 40; ++i) {
        for (Index j = 0; j < 20; ++j) EXPECT_EQ(std::isfinite(c(i, j)), i != 37) << i << ',' << j;
    }
}

TEST_F(Packed, TakesWhatPays) {
    EXPECT_TRUE(packs_product(50, 900, 50));
    EXPECT_FALSE(packs_product(20, 900, 50)) << "packing would cost more than it brings";
    EXPECT_FALSE(packs_product(1000, 1, 1000)) << "a vector";
    EXPECT_FALSE(packs_product(32, 8, 8)) << "too small";
}

}  // namespace
}  // namespace couplet
