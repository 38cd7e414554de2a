#include "jacobi.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "couplet/linalg/svd.hpp"
#include "matrices.hpp"

namespace couplet {
namespace {

using support::geometric;
using support::matrix_with_spectrum;
using support::random_matrix;

/// Largest cosine between two rows.
double worst_overlap(const Matrix<double>& rows, const std::vector<double>& squares) {
    double worst = 0;
    for (Index p = 0; p < rows.rows(); ++p) {
        for (Index q = 0; q < p; ++q) {
            double overlap = 0;
            for (Index j = 0; j < rows.cols(); ++j) overlap += rows(p, j) * rows(q, j);
            const double lengths =
                std::sqrt(squares[static_cast<std::size_t>(p)] * squares[static_cast<std::size_t>(q)]);
            if (lengths > 0) worst = std::max(worst, std::abs(overlap) / lengths);
        }
    }
    return worst;
}

TEST(OrthogonaliseRows, FindsTheSingularValuesOfAnyWidth) {
    for (const auto& [rows, cols] :
         {std::pair<Index, Index>{1, 1}, {2, 2}, {7, 8}, {8, 9}, {20, 80}, {64, 64}, {33, 401}}) {
        const auto sigma = geometric(rows, 0.8);
        auto f = matrix_with_spectrum(rows, cols, sigma);
        const auto squares = orthogonalise_rows(f);
        ASSERT_EQ(static_cast<Index>(squares.size()), rows);
        for (std::size_t i = 0; i < squares.size(); ++i) EXPECT_NEAR(std::sqrt(squares[i]), sigma[i], 1e-14) << rows;
        EXPECT_LE(worst_overlap(f, squares), 1e-14);
    }
}

/// Rows of very different lengths keep their digits, each relative to its own: what a Gram matrix would lose at 1e-8.
TEST(OrthogonaliseRows, KeepsTheDigitsOfShortRows) {
    auto f = random_matrix<double>(6, 10, 5);
    for (Index i = 0; i < 6; ++i) {
        for (Index j = 0; j < 10; ++j) f(i, j) *= std::pow(10.0, -12 * static_cast<double>(i));
    }
    auto reversed = Matrix<double>(6, 10);
    for (Index i = 0; i < 6; ++i) std::copy_n(f.view().row(5 - i), 10, reversed.view().row(i));
    const auto squares = orthogonalise_rows(f);
    const auto same = orthogonalise_rows(reversed);
    ASSERT_EQ(squares.size(), same.size());
    for (std::size_t i = 0; i < squares.size(); ++i) EXPECT_NEAR(same[i] / squares[i], 1, 1e-13);
    EXPECT_LE(worst_overlap(f, squares), 1e-14);
}

TEST(OrthogonaliseRows, LeavesZerosAndEqualRowsInPeace) {
    auto zeros = Matrix<double>::zeros(3, 4);
    EXPECT_EQ(orthogonalise_rows(zeros), std::vector<double>(3, 0.0));
    auto equal = Matrix<double>::zeros(3, 4);
    for (Index i = 0; i < 3; ++i) equal(i, 1) = 2;
    const auto squares = orthogonalise_rows(equal);
    ASSERT_EQ(squares.size(), 3U);
    EXPECT_NEAR(squares[0], 12, 1e-14);
    EXPECT_LE(squares[1], 1e-30);
}

/// The fourth power of such lengths is no number.
TEST(OrthogonaliseRows, OfAnyMagnitude) {
    const double golden = (1 + std::sqrt(5.0)) / 2;
    for (const double size : {1e-140, 1e-100, 1e-74, 1.0, 1e74, 1e100, 1e150}) {
        auto f = Matrix<double>::zeros(2, 2);
        f(0, 0) = f(0, 1) = f(1, 1) = size;
        const auto squares = orthogonalise_rows(f);
        ASSERT_EQ(squares.size(), 2U);
        EXPECT_NEAR(std::sqrt(squares[0]) / size, golden, 1e-14) << size;
        EXPECT_NEAR(std::sqrt(squares[1]) / size, golden - 1, 1e-14) << size;
    }
}

/// What is left of rows that were parallel is parallel again, and shorter each time.
TEST(OrthogonaliseRows, SettlesOnRowsThatAreParallel) {
    for (const Index count : {24, 64}) {
        auto f = Matrix<double>::zeros(count, count);
        for (Index i = 0; i < count; ++i) {
            for (Index j = 0; j < count; ++j) f(i, j) = i / 8 == j / 8 ? 1 : 0;
        }
        const auto squares = orthogonalise_rows(f);
        ASSERT_EQ(static_cast<Index>(squares.size()), count);
        for (Index i = 0; i < count; ++i) {
            EXPECT_NEAR(squares[static_cast<std::size_t>(i)], i < count / 8 ? 64 : 0, 1e-12);
        }
    }
}

}  // namespace
}  // namespace couplet
