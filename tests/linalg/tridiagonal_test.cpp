#include "tridiagonal.hpp"

#include <gtest/gtest.h>

#include "blas.hpp"
#include "matrices.hpp"

namespace couplet {
namespace {

using support::orthonormality_residual;

struct Tridiagonal {
    std::vector<double> d;
    std::vector<double> e;
    double norm() const {
        double largest = 0;
        for (std::size_t i = 0; i < d.size(); ++i) {
            const double before = i > 0 ? std::abs(e[i - 1]) : 0;
            const double after = i + 1 < d.size() ? std::abs(e[i]) : 0;
            largest = std::max(largest, std::abs(d[i]) + before + after);
        }
        return largest;
    }
};

Tridiagonal random_tridiagonal(std::size_t n, double scale = 1) {
    Random random(n, 5);
    Tridiagonal t;
    for (std::size_t i = 0; i < n; ++i) t.d.push_back(scale * random.normal());
    for (std::size_t i = 0; i + 1 < n; ++i) t.e.push_back(scale * random.normal());
    return t;
}

/// LAPACK's, descending.
std::vector<double> lapack_values(const Tridiagonal& t) {
    auto d = t.d;
    auto e = t.e;
    e.push_back(0);
    blas::sterf(static_cast<Index>(d.size()), d.data(), e.data());
    std::ranges::reverse(d);
    return d;
}

/// |lambda - lambda_LAPACK| <= 4 n u ||T||.
void check_values(const Tridiagonal& t, Index count) {
    SCOPED_TRACE(testing::Message() << "n " << t.d.size() << " count " << count);
    const auto expected = lapack_values(t);
    const auto values = tridiagonal_values(t.d, t.e, count);
    ASSERT_EQ(static_cast<Index>(values.size()), count);
    const double tolerance = 4 * static_cast<double>(t.d.size()) * std::numeric_limits<double>::epsilon() * t.norm();
    for (std::size_t i = 0; i < values.size(); ++i) EXPECT_NEAR(values[i], expected[i], tolerance) << i;
    EXPECT_TRUE(std::ranges::is_sorted(values, [&](double a, double b) { return a > b + tolerance; }));
}

/// max |T z - lambda z| <= 1e-13 ||T|| and Z orthonormal to 1e-12.
void check_vectors(const Tridiagonal& t, Index count) {
    SCOPED_TRACE(testing::Message() << "n " << t.d.size() << " count " << count);
    const auto values = tridiagonal_values(t.d, t.e, count);
    const auto z = tridiagonal_vectors(t.d, t.e, values);
    ASSERT_EQ(z.cols(), count);
    const auto n = static_cast<Index>(t.d.size());
    for (Index j = 0; j < count; ++j) {
        for (Index i = 0; i < n; ++i) {
            const auto at = static_cast<std::size_t>(i);
            double r = (t.d[at] - values[static_cast<std::size_t>(j)]) * z(i, j);
            if (i > 0) r += t.e[at - 1] * z(i - 1, j);
            if (i + 1 < n) r += t.e[at] * z(i + 1, j);
            ASSERT_LE(std::abs(r), 2e-13 * t.norm());
        }
    }
    EXPECT_LE(orthonormality_residual(z.view()) * static_cast<double>(n) * 1.2e-16, 1e-12);
}

TEST(Tridiagonal, ValuesAgreeWithLapackAroundTheLaneWidth) {
    for (const std::size_t n : {1, 2, 3, 31, 32, 33, 65, 127}) {
        for (const Index count : {Index{1}, static_cast<Index>(n) / 2, static_cast<Index>(n)}) {
            if (count > 0) check_values(random_tridiagonal(n), count);
        }
    }
}

TEST(Tridiagonal, ValuesOfExtremeMagnitude) {
    // Squares of off-diagonals leave the range of double here; eigenvalues do not.
    for (const double scale : {1e-290, 1e-200, 1e-120, 1e120, 1e200, 1e290}) {
        SCOPED_TRACE(scale);
        check_values(random_tridiagonal(37, scale), 20);
    }
}

TEST(Tridiagonal, ValuesOfSpecialMatrices) {
    const auto zero = tridiagonal_values(std::vector<double>(7, 0.0), std::vector<double>(6, 0.0), 7);
    for (const double value : zero) EXPECT_NEAR(value, 0, 1e-300);
    check_values({std::vector<double>(40, 1.0), std::vector<double>(39, 0.0)}, 40);
    // Second difference: 2 - 2 cos(k pi / (n + 1)).
    const std::size_t n = 35;
    const auto values = tridiagonal_values(std::vector<double>(n, 2.0), std::vector<double>(n - 1, -1.0), 35);
    for (std::size_t k = 0; k < n; ++k) {
        const double angle = static_cast<double>(n - k) * std::acos(-1.0) / static_cast<double>(n + 1);
        EXPECT_NEAR(values[k], 2 - 2 * std::cos(angle), 1e-14);
    }
    check_values({{1, 1e-8, 1e-16, 0, 0}, {1e-5, 1e-13, 1e-20, 0}}, 5);
}

/// Where characteristic polynomials are exactly zero, again and again, and where they leave the range of numbers.
TEST(Tridiagonal, ValuesWherePolynomialsVanish) {
    for (const std::size_t n : {9, 40, 70}) {
        Random random(n, 6);
        for (int repeat = 0; repeat < 20; ++repeat) {
            Tridiagonal whole{std::vector<double>(n), std::vector<double>(n - 1)};
            for (double& x : whole.d) x = std::round(random.normal());
            for (double& x : whole.e) x = std::round(random.normal());
            check_values(whole, static_cast<Index>(n));
        }
        Tridiagonal graded = random_tridiagonal(n);
        for (std::size_t i = 0; i < n; ++i) {
            const double size = std::pow(10.0, -12 * static_cast<double>(std::min<std::size_t>(i, 24)));
            graded.d[i] *= size;
            if (i + 1 < n) graded.e[i] *= 0.1 * size;
        }
        check_values(graded, static_cast<Index>(n));
    }
}

/// Values of every size beside one another, alone, in pairs and in heaps: what sections, ratios and Newton's steps each
/// have to find, and must not mistake for one another.
TEST(Tridiagonal, ValuesThatDecayPairUpOrGather) {
    for (const std::size_t n : {20, 50, 90}) {
        Tridiagonal decaying{std::vector<double>(n), std::vector<double>(n - 1)};
        for (std::size_t i = 0; i < n; ++i) decaying.d[i] = std::pow(0.5, static_cast<double>(i));
        for (std::size_t i = 0; i + 1 < n; ++i) decaying.e[i] = 0.3 * decaying.d[i + 1];
        check_values(decaying, static_cast<Index>(n));
        // Wilkinson's: pairs that agree to more and more digits.
        Tridiagonal pairs{std::vector<double>(n), std::vector<double>(n - 1, 1.0)};
        for (std::size_t i = 0; i < n; ++i)
            pairs.d[i] = std::abs(static_cast<double>(i) - static_cast<double>(n - 1) / 2);
        check_values(pairs, static_cast<Index>(n));
        Tridiagonal heaps{std::vector<double>(n), std::vector<double>(n - 1, 1e-9)};
        for (std::size_t i = 0; i < n; ++i) heaps.d[i] = i % 3 == 0 ? 1.0 : -0.25;
        check_values(heaps, static_cast<Index>(n));
    }
}

TEST(Tridiagonal, VectorsOfSeparatedValues) {
    for (const std::size_t n : {1, 2, 3, 31, 32, 33, 65}) {
        const auto some = std::max<Index>(1, static_cast<Index>(n) / 2);
        check_vectors({std::vector<double>(n, 2.0), std::vector<double>(n - 1, -1.0)}, some);
        check_vectors(random_tridiagonal(n), some);
    }
    for (const double scale : {1e-290, 1e-120, 1e120, 1e290}) {
        SCOPED_TRACE(scale);
        check_vectors(random_tridiagonal(37, scale), 10);
    }
}

TEST(Tridiagonal, VectorsOfClustersAreRefusedRatherThanDependent) {
    const std::vector<double> ones(9, 1.0);
    EXPECT_EQ(tridiagonal_vectors(ones, std::vector<double>(8, 0.0), std::vector<double>(3, 1.0)).size(), 0);
    // Wilkinson's matrix: its largest eigenvalues agree to 1e-14.
    Tridiagonal w;
    for (int i = -10; i <= 10; ++i) w.d.push_back(std::abs(i));
    w.e.assign(20, 1.0);
    const auto values = tridiagonal_values(w.d, w.e, 4);
    const auto z = tridiagonal_vectors(w.d, w.e, values);
    EXPECT_TRUE(z.size() == 0 || orthonormality_residual(z.view()) * 21 * 1.2e-16 < 1e-12);
    check_values(w, 21);
}

/// Values a few 1e-9 apart: each vector has a little of its neighbours, which is taken out.
TEST(Tridiagonal, VectorsOfCloseValuesAreMadeOrthogonal) {
    Tridiagonal t;
    for (int i = 0; i < 60; ++i) t.d.push_back(i < 4 ? 1.0 - 0.1 * i : 1e-6 + 1e-9 * i);
    t.e.assign(59, 3e-9);
    t.e[0] = t.e[1] = t.e[2] = 0.05;
    check_vectors(t, 30);
}

TEST(Tridiagonal, VectorsOfNonFiniteMatricesAreRefused) {
    auto t = random_tridiagonal(6);
    t.d[2] = std::numeric_limits<double>::quiet_NaN();
    EXPECT_EQ(tridiagonal_vectors(t.d, t.e, std::vector<double>{1.0, 0.5}).size(), 0);
}

TEST(Tridiagonal, BitsDoNotDependOnTheThreadCount) {
    const support::ThreadCountGuard guard;
    const auto t = random_tridiagonal(211);
    std::vector<double> values;
    Matrix<double> vectors;
    for (const int threads : {1, 2, 3, 7}) {
        set_thread_count(threads);
        const auto now = tridiagonal_values(t.d, t.e, 100);
        auto now_vectors = tridiagonal_vectors(t.d, t.e, now);
        if (threads > 1) {
            EXPECT_EQ(now, values);
            EXPECT_TRUE(support::same_bits<double>(now_vectors.view(), vectors.view()));
        }
        values = now;
        vectors = std::move(now_vectors);
    }
}

}  // namespace
}  // namespace couplet
