#include "reduction.hpp"

#include <gtest/gtest.h>

#include "couplet/core/threads.hpp"
#include "matrices.hpp"

namespace couplet {
namespace {

using support::random_matrix;

Matrix<double> symmetric(Index n, std::uint64_t seed) {
    auto a = random_matrix<double>(n, n, seed);
    for (Index i = 0; i < n; ++i) {
        for (Index j = 0; j < i; ++j) a(i, j) = a(j, i);
    }
    return a;
}

/// Q, column by column of the product of the reflectors.
Matrix<double> orthogonal_part(const Reduction& r) {
    const Index n = r.order;
    auto q = Matrix<double>::identity(n);
    for (Index i = n - 1; i-- > 0;) {
        std::vector<double> v(static_cast<std::size_t>(n), 0.0);
        v[static_cast<std::size_t>(i + 1)] = 1;
        for (Index j = i + 2; j < n; ++j) v[static_cast<std::size_t>(j)] = r.reflectors(i, j);
        for (Index c = 0; c < n; ++c) {
            double dot = 0;
            for (Index j = i + 1; j < n; ++j) dot += v[static_cast<std::size_t>(j)] * q(j, c);
            dot *= r.tau[static_cast<std::size_t>(i)];
            for (Index j = i + 1; j < n; ++j) q(j, c) -= dot * v[static_cast<std::size_t>(j)];
        }
    }
    return q;
}

/// max |A - Q T Q^T| <= 20 n u max |A|, Q orthonormal.
void check(const Matrix<double>& a) {
    SCOPED_TRACE(testing::Message() << "order " << a.rows());
    const Index n = a.rows();
    const auto r = tridiagonalise(a.view());
    ASSERT_EQ(r.order, n);
    const auto q = orthogonal_part(r);
    EXPECT_LT(support::orthonormality_residual(q.view()), 100);
    auto t = Matrix<double>::zeros(n, n);
    for (Index i = 0; i < n; ++i) {
        t(i, i) = r.diagonal[static_cast<std::size_t>(i)];
        if (i + 1 < n) t(i, i + 1) = t(i + 1, i) = r.off_diagonal[static_cast<std::size_t>(i)];
    }
    const auto half = product<double>(q.view(), t.view());
    const auto back = product<double>(half.view(), q.view(), Op::none, Op::transpose);
    double worst = 0;
    for (Index i = 0; i < n; ++i) {
        for (Index j = 0; j < n; ++j) worst = std::max(worst, std::abs(back(i, j) - a(i, j)));
    }
    const double largest = max_magnitude<double>(a.view());
    EXPECT_LE(worst, 20 * static_cast<double>(n) * 1.2e-16 * largest);
}

TEST(Tridiagonalise, EverySizeAroundTheBlocks) {
    for (const Index n : {1, 2, 3, 4, 7, 8, 9, 10, 15, 16, 17, 31, 33, 64, 65, 127, 250, 257, 263}) {
        check(symmetric(n, static_cast<std::uint64_t>(n)));
    }
}

TEST(Tridiagonalise, LargeMatricesGoByPanels) {
    check(symmetric(601, 1));
    check(symmetric(655, 2));
}

TEST(Tridiagonalise, SpecialMatrices) {
    check(Matrix<double>::zeros(20, 20));
    check(Matrix<double>::identity(20));
    auto block = Matrix<double>::zeros(30, 30);  // falls apart: rows that are done already
    for (Index i = 0; i < 10; ++i) {
        for (Index j = 0; j < 10; ++j) block(i, j) = static_cast<double>(1 + i + j);
    }
    check(block);
    auto ones = Matrix<double>(33, 33);
    std::fill_n(ones.data(), ones.size(), 1.0);
    check(ones);
}

TEST(Tridiagonalise, AnyMagnitude) {
    for (const double scale : {1e-300, 1e-160, 1e160, 1e300}) {
        auto a = symmetric(40, 5);
        for (Index i = 0; i < a.size(); ++i) a.data()[i] *= scale;
        check(a);
    }
    auto graded = symmetric(50, 6);
    for (Index i = 0; i < 50; ++i) {
        for (Index j = 0; j < 50; ++j) graded(i, j) *= std::pow(10.0, -7.0 * static_cast<double>(i + j));
    }
    check(graded);
}

TEST(Tridiagonalise, BitsDoNotDependOnThreads) {
    for (const Index n : {300, 620}) {
        const auto a = symmetric(n, 7);
        const int before = thread_count();
        set_thread_count(1);
        const auto one = tridiagonalise(a.view());
        set_thread_count(4);
        const auto four = tridiagonalise(a.view());
        set_thread_count(before);
        EXPECT_EQ(one.diagonal, four.diagonal);
        EXPECT_EQ(one.off_diagonal, four.off_diagonal);
        EXPECT_EQ(one.tau, four.tau);
    }
}

TEST(Reduction, ReflectorsOneByOneAreTheOrthogonalPart) {
    for (const Index n : {2, 3, 8, 9, 30, 65}) {
        const auto r = tridiagonalise(symmetric(n, 3).view());
        const auto q = orthogonal_part(r);
        for (const Index columns : {1, 7, 8, 9, 16, 20, 31, 32, 33, 65}) {
            auto z = random_matrix<double>(n, columns, 4);
            const auto expected = product<double>(q.view(), z.view());
            apply_one_by_one(r.reflectors, r.tau, z);
            for (Index i = 0; i < z.size(); ++i) ASSERT_NEAR(z.data()[i], expected.data()[i], 1e-13) << n << columns;
        }
    }
}

}  // namespace
}  // namespace couplet
