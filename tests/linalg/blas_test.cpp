#include "blas.hpp"

#include <gtest/gtest.h>

#include "matrices.hpp"

namespace couplet {
namespace {

using support::matrix_with_spectrum;
using support::message_of;
using support::naive_distance;
using support::naive_norm;
using support::naive_product;
using support::random_matrix;

/// ||C - op(A) op(B)|| <= 10 k u ||A|| ||B||.
template <Real T>
void check_gemm(bool ta, bool tb, Index m, Index n, Index k) {
    const auto a = ta ? random_matrix<T>(k, m, 1) : random_matrix<T>(m, k, 1);
    const auto b = tb ? random_matrix<T>(n, k, 2) : random_matrix<T>(k, n, 2);
    auto c = Matrix<T>::zeros(m, n);
    blas::gemm(ta, tb, m, n, k, T(1), a.data(), a.cols(), b.data(), b.cols(), T(0), c.data(), n);
    const auto expected =
        naive_product(a.view(), b.view(), ta ? Op::transpose : Op::none, tb ? Op::transpose : Op::none);
    const double bound =
        10.0 * static_cast<double>(k) * std::numeric_limits<T>::epsilon() * naive_norm(a.view()) * naive_norm(b.view());
    EXPECT_LE(naive_distance(c.view(), expected.view()), bound) << ta << tb << m << "x" << n << "x" << k;
}

TEST(Blas, GemmIsRowMajorForEveryTransposition) {
    for (const bool ta : {false, true}) {
        for (const bool tb : {false, true}) {
            check_gemm<double>(ta, tb, 1, 1, 1);
            check_gemm<double>(ta, tb, 7, 3, 5);
            check_gemm<double>(ta, tb, 33, 17, 65);
            check_gemm<float>(ta, tb, 7, 3, 5);
            check_gemm<float>(ta, tb, 33, 17, 65);
        }
    }
}

TEST(Blas, SyrkFillsTheUpperTriangleAndAddsToBetaC) {
    for (const bool trans : {false, true}) {
        const Index n = 5;
        const Index k = 11;
        const auto a = trans ? random_matrix<double>(k, n) : random_matrix<double>(n, k);
        auto c = Matrix<double>::zeros(n, n);
        for (Index i = 0; i < c.size(); ++i) c.data()[i] = 100;
        blas::syrk(trans, n, k, a.data(), a.cols(), 1.0, c.data(), n);
        const auto expected = trans ? naive_product(a.view(), a.view(), Op::transpose, Op::none)
                                    : naive_product(a.view(), a.view(), Op::none, Op::transpose);
        for (Index i = 0; i < n; ++i) {
            for (Index j = 0; j < n; ++j) {
                EXPECT_NEAR(c(i, j), j >= i ? 100 + expected(i, j) : 100, 1e-12);
            }
        }
    }
}

TEST(Blas, TridiagonalRoutinesGiveEigenpairs) {
    const Index n = 13;
    const std::vector<double> spectrum = support::geometric(n, 0.7);
    const auto factor = matrix_with_spectrum(n, n, spectrum);
    const auto a = naive_product(factor.view(), factor.view(), Op::transpose, Op::none);

    auto reflectors = Matrix<double>::copy(a.view());
    std::vector<double> d(13), e(13), tau(13);
    blas::sytrd(n, reflectors.data(), d.data(), e.data(), tau.data());
    auto d1 = d;
    auto e1 = e;
    blas::sterf(n, d1.data(), e1.data());
    for (std::size_t i = 0; i < 13; ++i) {
        EXPECT_NEAR(d1[12 - i], spectrum[i] * spectrum[i], 1e-14);
    }

    const Index count = 4;
    Matrix<double> columns(n, n);
    blas::stedc(n, d.data(), e.data(), columns.data());
    const std::vector<double> values(d.end() - count, d.end());
    for (std::size_t i = 0; i < values.size(); ++i) {
        EXPECT_NEAR(values[values.size() - 1 - i], spectrum[i] * spectrum[i], 1e-14);
    }

    auto vectors = Matrix<double>::copy(a.view());
    std::vector<double> all(13);
    blas::syevd(n, vectors.data(), all.data());
    for (std::size_t i = 0; i < 13; ++i) EXPECT_NEAR(all[12 - i], spectrum[i] * spectrum[i], 1e-14);
}

TEST(Blas, GesddGivesTheThinSvdInColumnMajorTerms) {
    const auto a = random_matrix<double>(4, 9);  // column-major: 9 x 4
    auto work = Matrix<double>::copy(a.view());
    std::vector<double> s(4);
    Matrix<double> u(4, 9);
    Matrix<double> vt(4, 4);
    blas::gesdd(9, 4, work.data(), s.data(), u.data(), vt.data());
    for (Index j = 0; j < 4; ++j) {
        for (Index i = 0; i < 9; ++i) {
            double sum = 0;
            for (Index k = 0; k < 4; ++k) sum += u(k, i) * s[static_cast<std::size_t>(k)] * vt(j, k);
            EXPECT_NEAR(sum, a(j, i), 1e-13);
        }
    }
}

TEST(Blas, GeqrfLeavesATriangleWithTheSameGram) {
    const auto a = random_matrix<double>(3, 7);  // column-major: 7 x 3
    auto work = Matrix<double>::copy(a.view());
    std::vector<double> tau(3);
    blas::geqrf(7, 3, work.data(), 7, tau.data());
    auto r = Matrix<double>::zeros(3, 3);
    for (Index i = 0; i < 3; ++i) {
        for (Index j = i; j < 3; ++j) r(i, j) = work(j, i);
    }
    EXPECT_LE(naive_distance(naive_product(r.view(), r.view(), Op::transpose, Op::none).view(),
                             naive_product(a.view(), a.view(), Op::none, Op::transpose).view()),
              1e-13);
}

TEST(Blas, RefusesSizesBeyondItsIntegers) {
    EXPECT_EQ(blas::blas_size(2147483647), 2147483647);
    EXPECT_EQ(message_of([] { blas::blas_size(2147483648); }),
              "matrix: a side of 2147483648; expected at most 2^31 - 1, the limit of BLAS. "
              "Split the tensor along its first mode.");
}

}  // namespace
}  // namespace couplet
