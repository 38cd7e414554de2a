#include "couplet/linalg/qr.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "matrices.hpp"

namespace couplet {
namespace {

using support::message_of;
using support::naive_distance;
using support::naive_norm;
using support::naive_product;
using support::orthonormality_residual;
using support::random_matrix;
using support::same_bits;

bool is_upper_trapezoidal(const Matrix<double>& r) {
    for (Index i = 0; i < r.rows(); ++i) {
        for (Index j = 0; j < std::min(i, r.cols()); ++j) {
            if (r(i, j) != 0) return false;
        }
    }
    return true;
}

/// ||R^T R - A^T A|| <= (20 m + sqrt(k)) u ||A||^2 (m the short side, k the long one; left: with A^T for A),
/// R trapezoidal.
template <Real T>
void check_factor(Index rows, Index cols, Side side) {
    SCOPED_TRACE(testing::Message() << rows << "x" << cols << " side " << int(side));
    const auto padded = random_matrix<T>(rows, cols + 1);
    const auto a = padded.view().cols_from(1, cols);
    const auto r = triangular_factor<T>(a, side);
    EXPECT_EQ(r.rows(), std::min(rows, cols));
    EXPECT_EQ(r.cols(), side == Side::right ? cols : rows);
    EXPECT_TRUE(is_upper_trapezoidal(r));
    const auto expected = side == Side::right ? naive_product(a, a, Op::transpose, Op::none)
                                              : naive_product(a, a, Op::none, Op::transpose);
    const double norm = naive_norm(a);
    const double factor =
        20 * static_cast<double>(std::min(rows, cols)) + std::sqrt(static_cast<double>(std::max(rows, cols)));
    EXPECT_LE(naive_distance(naive_product(r.view(), r.view(), Op::transpose, Op::none).view(), expected.view()),
              factor * std::numeric_limits<double>::epsilon() * norm * norm);
}

TEST(TriangularFactor, HasTheGramOfItsArgument) {
    // Fewer rows than columns, one past a block of 4 n or 32 Ki / n rows, one past the 4096 rows of a part.
    const std::pair<Index, Index> shapes[] = {{1, 1},    {1, 7},    {7, 1},     {3, 5},     {5, 3},     {13, 13},
                                              {4097, 7}, {8193, 7}, {12289, 3}, {521, 130}, {32769, 1}, {40001, 11}};
    for (const auto& [rows, cols] : shapes) {
        check_factor<double>(rows, cols, Side::right);
        check_factor<double>(cols, rows, Side::left);
        check_factor<float>(rows, cols, Side::right);
        check_factor<float>(cols, rows, Side::left);
    }
}

TEST(TriangularFactor, OfTheLongSideIsTrapezoidal) {
    for (const auto& [rows, cols] : {std::pair<Index, Index>{1, 7}, {3, 5}, {13, 130}}) {
        check_factor<double>(rows, cols, Side::right);
        check_factor<double>(cols, rows, Side::left);
    }
}

TEST(TriangularFactor, KeepsSmallSingularValues) {
    // The point of not squaring: 1e-13 of the largest survives. A^T A would show 1e-8 at best.
    auto a = support::orthonormal_columns(9001, 3, 4);
    for (Index i = 0; i < a.rows(); ++i) a(i, 2) *= 1e-13;
    const auto r = triangular_factor<double>(a.view(), Side::right);
    EXPECT_NEAR(std::abs(r(2, 2)), 1e-13, 1e-18 * 50);
}

TEST(TriangularFactor, OfZeroAndOfNothing) {
    EXPECT_EQ(naive_norm(triangular_factor<double>(Matrix<double>::zeros(5000, 3).view(), Side::right).view()), 0);
    EXPECT_EQ(triangular_factor<double>(Matrix<double>(0, 3).view(), Side::right).rows(), 0);
}

TEST(TriangularFactor, BitsDoNotDependOnTheThreadCount) {
    const support::ThreadCountGuard guard;
    const auto tall = random_matrix<double>(40009, 13);
    const auto wide = transpose(tall.view());
    Matrix<double> right;
    Matrix<double> left;
    for (const int threads : {1, 2, 3, 7}) {
        set_thread_count(threads);
        auto now_right = triangular_factor<double>(tall.view(), Side::right);
        auto now_left = triangular_factor<double>(wide.view(), Side::left);
        if (threads > 1) {
            EXPECT_TRUE(same_bits<double>(now_right.view(), right.view())) << threads;
            EXPECT_TRUE(same_bits<double>(now_left.view(), left.view())) << threads;
        }
        right = std::move(now_right);
        left = std::move(now_left);
    }
}

/// ||A - Q R|| <= 20 n u ||A||, Q orthonormal, R upper triangular with a diagonal >= 0.
template <Real T>
void check_orthonormalise(const Matrix<T>& a) {
    SCOPED_TRACE(testing::Message() << a.rows() << "x" << a.cols());
    auto q = Matrix<T>::copy(a.view());
    const auto r = orthonormalise_columns(q.view());
    EXPECT_LT(orthonormality_residual(q.view()), 30);
    const auto back = naive_product(q.view(), r.view());
    EXPECT_LE(naive_distance(back.view(), a.view()),
              20 * static_cast<double>(a.cols()) * std::numeric_limits<T>::epsilon() * naive_norm(a.view()));
    EXPECT_TRUE(is_upper_trapezoidal(convert<double>(r.view())));
    for (Index j = 0; j < r.cols(); ++j) {
        EXPECT_GE(r(j, j), T(0));
        for (Index i = j + 1; i < r.rows(); ++i) EXPECT_FALSE(std::signbit(r(i, j))) << "nothing is done below";
    }
}

TEST(OrthonormaliseColumns, FactorsItsArgument) {
    for (const auto& [rows, cols] : {std::pair<Index, Index>{1, 1}, {7, 1}, {5, 5}, {13, 7}, {1009, 33}, {130, 129}}) {
        check_orthonormalise(random_matrix<double>(rows, cols));
        check_orthonormalise(random_matrix<float>(rows, cols));
    }
}

TEST(OrthonormaliseColumns, StaysOrthonormalWhenColumnsAreDependent) {
    check_orthonormalise(Matrix<double>::zeros(7, 4));
    auto a = random_matrix<double>(11, 5);
    for (Index i = 0; i < 11; ++i) {
        a(i, 0) = 0;
        a(i, 3) = 2 * a(i, 1);
    }
    check_orthonormalise(a);
    auto q = Matrix<double>::copy(a.view());
    const auto r = orthonormalise_columns(q.view());
    EXPECT_EQ(r(0, 0), 0);
    EXPECT_NEAR(r(3, 3), 0, 1e-14);
}

TEST(OrthonormaliseColumns, LeadingColumnsSpanLeadingColumns) {
    const auto a = random_matrix<double>(20, 6);
    auto q = Matrix<double>::copy(a.view());
    orthonormalise_columns(q.view());
    for (Index k = 1; k <= 6; ++k) {
        const auto basis = leading_columns(q.view(), k);
        const auto part = transpose(leading_columns(a.view(), k).view());
        EXPECT_LT(support::projection_error(part.view(), basis), 1e-13);
    }
}

TEST(ExtendBasis, AddsOnlyWhatIsNew) {
    const auto basis = support::orthonormal_columns(40, 5, 3);
    // Two columns inside the basis, two new ones, one of them tiny, and one far below the others.
    auto block = random_matrix<double>(40, 5, 9);
    for (Index i = 0; i < 40; ++i) {
        block(i, 0) = basis(i, 0) - 3 * basis(i, 4);
        block(i, 1) = basis(i, 2);
        block(i, 3) *= 1e-4;
        block(i, 4) *= 1e-9;
    }
    const auto extended = extend_basis(basis, Matrix<double>::copy(block.view()));
    EXPECT_EQ(extended.cols(), 7);
    EXPECT_LT(orthonormality_residual(extended.view()), 20);
    EXPECT_TRUE(same_bits<double>(leading_columns(extended.view(), 5).view(), basis.view()));
    EXPECT_LT(support::projection_error(transpose(block.view()).view(), extended), 1e-7);
    const auto fresh = extend_basis(Matrix<double>(40, 0), Matrix<double>::copy(block.view()));
    EXPECT_EQ(fresh.cols(), 4);
    EXPECT_EQ(extend_basis(basis, Matrix<double>::copy(basis.view())).rows(), 40);
    EXPECT_EQ(extend_basis(basis, Matrix<double>(40, 0)).cols(), 5);
}

TEST(ExtendBasis, ABlockInsideTheSpaceAddsNothing) {
    // What projection leaves of it is rounding: normalised, it would be anything but orthogonal to the basis.
    const auto basis = support::orthonormal_columns(60, 6, 3);
    for (const double scale : {1e-120, 1.0, 1e120}) {
        auto block = naive_product(basis.view(), random_matrix<double>(6, 9, 4).view());
        for (Index i = 0; i < block.size(); ++i) block.data()[i] *= scale;
        EXPECT_EQ(extend_basis(basis, Matrix<double>::copy(block.view())).cols(), 6) << scale;
        // One direction of a part in a thousand is new, all else is inside.
        for (Index i = 0; i < 60; ++i) block(i, 4) += scale * 1e-3 * std::sin(static_cast<double>(i * i));
        const auto extended = extend_basis(basis, Matrix<double>::copy(block.view()));
        EXPECT_EQ(extended.cols(), 7) << scale;
        EXPECT_LT(orthonormality_residual(extended.view()), 20) << scale;
    }
    // Columns that are all the same: one direction.
    Matrix<double> constant(60, 12);
    for (Index i = 0; i < constant.size(); ++i) constant.data()[i] = 0.1;
    EXPECT_EQ(extend_basis(Matrix<double>(60, 0), Matrix<double>::copy(constant.view())).cols(), 1);
    EXPECT_EQ(extend_basis(Matrix<double>(60, 0), Matrix<double>::zeros(60, 3)).cols(), 0);
}

TEST(ExtendBasis, DropsWhatIsBelowAMillionthOfTheLongestColumn) {
    const auto axes = [](double second) {
        auto block = Matrix<double>::zeros(10, 2);
        block(0, 0) = 3;
        block(1, 0) = 4;
        block(5, 1) = second;
        return block;
    };
    for (const Index given : {0, 1}) {
        Matrix<double> basis = Matrix<double>::zeros(10, given);
        if (given == 1) basis(9, 0) = 1;
        EXPECT_EQ(extend_basis(basis, axes(5.1e-6)).cols(), given + 2);
        EXPECT_EQ(extend_basis(basis, axes(4.9e-6)).cols(), given + 1);
    }
}

/// Tall enough for CholeskyQR2, with columns that depend on one another more and more.
TEST(OrthonormaliseColumns, NearlyDependentTallColumns) {
    for (const Index cols : {8, 9, 16, 33}) {
        for (const Index rows : {4 * cols - 1, 4 * cols, 4 * cols + 1, Index{600}}) {
            for (const double distance : {1e-2, 1e-4, 1e-5, 1e-6, 1e-7, 1e-9, 1e-12, 1e-15}) {
                // Every column is the first one plus a little of its own.
                auto a = random_matrix<double>(rows, cols, 5);
                for (Index i = 0; i < rows; ++i) {
                    for (Index j = 1; j < cols; ++j) a(i, j) = a(i, 0) + distance * a(i, j);
                }
                check_orthonormalise(a);
                check_orthonormalise(convert<float>(a.view()));
            }
            // Lengths from 1 to 1e-12: graded columns are independent however short they are.
            auto graded = support::orthonormal_columns(rows, cols, 6);
            const auto length = [&](Index j) {
                return std::pow(10.0, -12 * static_cast<double>(j) / static_cast<double>(cols - 1));
            };
            for (Index i = 0; i < rows; ++i) {
                for (Index j = 0; j < cols; ++j) graded(i, j) *= length(j);
            }
            check_orthonormalise(graded);
            auto q = Matrix<double>::copy(graded.view());
            const auto r = orthonormalise_columns(q.view());
            for (Index j = 0; j < cols; ++j) {
                EXPECT_NEAR(r(j, j) / length(j), 1, 1e-10);
            }
        }
    }
}

TEST(OrthonormaliseColumns, MagnitudesDoNotMatter) {
    for (const double scale : {1e-300, 1e-150, 1e-141, 1e-139, 1e139, 1e141, 1e150, 1e300}) {
        auto a = random_matrix<double>(70, 9, 5);
        for (Index i = 0; i < a.size(); ++i) a.data()[i] *= scale;
        auto q = Matrix<double>::copy(a.view());
        const auto r = orthonormalise_columns(q.view());
        EXPECT_LT(orthonormality_residual(q.view()), 30) << scale;
        auto plain = random_matrix<double>(70, 9, 5);
        const auto expected = orthonormalise_columns(plain.view());
        EXPECT_NEAR(r(8, 8) / scale, expected(8, 8), 1e-12) << scale;
        EXPECT_LT(naive_distance(q.view(), plain.view()), 1e-12) << scale;
    }
}

TEST(OrthonormaliseColumns, RefusesWideAndStridedViews) {
    Matrix<double> wide(2, 3);
    EXPECT_EQ(message_of([&] { orthonormalise_columns(wide.view()); }),
              "orthonormalise: 2x3; expected a contiguous matrix with at least as many rows as columns");
    Matrix<double> tall(5, 3);
    EXPECT_THROW(orthonormalise_columns(tall.view().cols_from(0, 2)), InputError);
}

}  // namespace
}  // namespace couplet
