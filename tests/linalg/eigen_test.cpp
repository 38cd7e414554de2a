#include "couplet/linalg/eigen.hpp"

#include <gtest/gtest.h>

#include "couplet/linalg/products.hpp"
#include "matrices.hpp"

namespace couplet {
namespace {

using support::geometric;
using support::message_of;
using support::naive_product;
using support::orthonormality_residual;

/// Symmetric with these eigenvalues.
Matrix<double> with_eigenvalues(const std::vector<double>& values, std::uint64_t seed = 3) {
    const auto n = static_cast<Index>(values.size());
    const auto q = support::orthonormal_columns(n, n, seed);
    auto scaled = Matrix<double>::copy(q.view());
    for (Index i = 0; i < n; ++i) {
        for (Index j = 0; j < n; ++j) scaled(i, j) *= values[static_cast<std::size_t>(j)];
    }
    auto a = naive_product(scaled.view(), q.view(), Op::none, Op::transpose);
    for (Index i = 0; i < n; ++i) {
        for (Index j = 0; j < i; ++j) a(i, j) = a(j, i);
    }
    return a;
}

/// max |A z - lambda z| <= 10 n u |lambda|_max, Z orthonormal, values right, sign rule.
void check(const std::vector<double>& descending, Index count) {
    SCOPED_TRACE(testing::Message() << "n " << descending.size() << " count " << count);
    const auto a = with_eigenvalues(descending);
    const auto eigen = symmetric_eigen(a.view(), count);
    const Index n = a.rows();
    const Index expected = count < 0 || count > n ? n : count;
    double largest = 0;
    for (const double value : descending) largest = std::max(largest, std::abs(value));
    const double u = std::numeric_limits<double>::epsilon();
    const double tolerance = std::max(1e-13, 10 * static_cast<double>(n) * u) * largest + 1e-300;
    ASSERT_EQ(static_cast<Index>(eigen.values.size()), expected);
    ASSERT_EQ(eigen.vectors.cols(), expected);
    for (std::size_t i = 0; i < eigen.values.size(); ++i) {
        EXPECT_NEAR(eigen.values[i], descending[i], tolerance);
    }
    EXPECT_LE(orthonormality_residual(eigen.vectors.view()) * static_cast<double>(n) * 1.2e-16, 1e-12);
    EXPECT_TRUE(support::obeys_sign_rule(eigen.vectors.view()));
    const auto image = naive_product(a.view(), eigen.vectors.view());
    double worst = 0;
    for (Index i = 0; i < n; ++i) {
        for (Index j = 0; j < expected; ++j) {
            const double residual = image(i, j) - eigen.values[static_cast<std::size_t>(j)] * eigen.vectors(i, j);
            worst = std::max(worst, std::abs(residual));
        }
    }
    EXPECT_LE(worst, tolerance);
}

TEST(SymmetricEigen, PartAndWholeSpectrum) {
    for (const Index n : {1, 2, 3, 13, 32, 33, 67, 193}) {
        for (const Index count : {Index{1}, n / 3, 2 * n / 3, n, Index{-1}}) {
            if (count != 0) check(geometric(n, 0.9), count);
        }
    }
}

TEST(SymmetricEigen, RepeatedAndClusteredEigenvalues) {
    check(std::vector<double>(40, 1.0), 13);  // identity
    check(std::vector<double>(40, 0.0), 13);  // zero
    std::vector<double> repeated;
    for (int i = 0; i < 45; ++i) repeated.push_back(1.0 + (44 - i) / 5);
    check(repeated, 20);
    check(repeated, -1);
    std::vector<double> clustered;
    for (int i = 0; i < 60; ++i) clustered.push_back(i < 30 ? 1 - i * 1e-14 : 1e-3 - i * 1e-13);
    check(clustered, 29);
    check(clustered, 40);
}

TEST(SymmetricEigen, GradedAndIndefiniteSpectra) {
    check(geometric(50, 0.5), 30);  // down to 2e-15
    std::vector<double> mixed;
    for (int i = 0; i < 31; ++i) mixed.push_back(15.0 - i);
    check(mixed, 10);
    check(mixed, 31);
}

TEST(SymmetricEigen, ExtremeMagnitudes) {
    for (const double scale : {1e-180, 1e-90, 1e90, 1e180}) {
        SCOPED_TRACE(scale);
        check(geometric(41, 0.8, scale), 12);
        check(geometric(41, 0.8, scale), -1);
    }
}

TEST(SymmetricEigen, RefusesWhatIsNotSquare) {
    EXPECT_EQ(message_of([] { symmetric_eigen(Matrix<double>(2, 3).view()); }),
              "symmetric eigenproblem: 2x3; expected a square matrix with at least one row");
    EXPECT_EQ(message_of([] { TridiagonalForm(Matrix<double>(0, 0).view()); }),
              "symmetric eigenproblem: 0x0; expected a square matrix with at least one row");
}

/// A part of the eigenvectors spans what the first of all of them span, on spectra flat, slow, fast, and with a floor
/// of values that differ by next to nothing.
TEST(SymmetricEigen, APartIsTheBeginningOfTheWhole) {
    const Index n = 260;
    const Index count = 40;
    std::vector<double> flat;
    std::vector<double> slow;
    std::vector<double> with_floor;
    for (Index i = 0; i < n; ++i) {
        const auto x = static_cast<double>(i);
        flat.push_back(2 - x / static_cast<double>(n));
        slow.push_back(1 / ((x + 1) * (x + 1)));
        with_floor.push_back(std::pow(0.6, x) + 1e-8 * (1 - 1e-6 * x));
    }
    for (const auto& spectrum : {flat, slow, geometric(n, 0.9), with_floor}) {
        const auto a = with_eigenvalues(spectrum);
        const auto part = symmetric_eigen(a.view(), count);
        const auto all = symmetric_eigen(a.view());
        const auto rest = product<double>(all.vectors.view(), part.vectors.view(), Op::transpose);
        double kept = 0;
        double best = 0;
        for (Index j = 0; j < count; ++j) {
            best += all.values[static_cast<std::size_t>(j)];
            EXPECT_NEAR(part.values[static_cast<std::size_t>(j)], all.values[static_cast<std::size_t>(j)],
                        1e-13 * spectrum[0]);
            for (Index i = 0; i < n; ++i) kept += all.values[static_cast<std::size_t>(i)] * rest(i, j) * rest(i, j);
        }
        EXPECT_NEAR(kept, best, 1e-12 * spectrum[0]) << "as much of the trace";
        EXPECT_LE(orthonormality_residual(part.vectors.view()) * static_cast<double>(n) * 1.2e-16, 1e-12);
    }
}

TEST(TridiagonalForm, ValuesAgreeWithTopValues) {
    const auto a = with_eigenvalues(geometric(53, 0.8));
    const TridiagonalForm form(a.view());
    const auto all = form.values();
    const auto top = form.top_values(20);
    ASSERT_EQ(all.size(), 53U);
    for (std::size_t i = 0; i < 20; ++i) EXPECT_NEAR(top[i], all[i], 1e-14);
    EXPECT_LT(orthonormality_residual(form.top_vectors(top).view()), 100);
}

}  // namespace
}  // namespace couplet
