#include "couplet/linalg/source.hpp"

#include <gtest/gtest.h>

#include "couplet/linalg/qr.hpp"
#include "couplet/linalg/svd.hpp"
#include "matrices.hpp"

namespace couplet {
namespace {

using support::geometric;
using support::matrix_with_spectrum;
using support::message_of;
using support::naive_distance;
using support::naive_norm;
using support::naive_product;
using support::orthonormal_columns;
using support::random_matrix;

Matrix<double> naive_gram(const Matrix<double>& a, Side side) {
    return side == Side::right ? naive_product(a.view(), a.view(), Op::transpose, Op::none)
                               : naive_product(a.view(), a.view(), Op::none, Op::transpose);
}

Matrix<double> gram_of(const Summary& summary) {
    if (summary.kind() == Summary::Kind::gram) return Matrix<double>::copy(summary.matrix().view());
    return naive_gram(summary.matrix(), Side::right);
}

constexpr Summary::Kind kinds[] = {Summary::Kind::gram, Summary::Kind::triangle};

TEST(Summary, RowsAddUpInAnyBlocksAndSummariesMerge) {
    const auto a = random_matrix<double>(103, 9);
    const auto expected = naive_gram(a, Side::right);
    for (const auto kind : kinds) {
        Summary upper(kind, 9);
        EXPECT_EQ(upper.norm2(), 0);
        upper.add<double>(a.view().rows_from(0, 4));  // fewer rows than a triangle has
        upper.add<double>(a.view().rows_from(4, 0));
        upper.add<double>(a.view().rows_from(4, 50));
        Summary lower(kind, 9);
        lower.add<double>(a.view().rows_from(54, 49));
        upper.merge(lower);
        EXPECT_EQ(upper.terms(), 103);
        EXPECT_EQ(upper.order(), 9);
        EXPECT_LE(naive_distance(gram_of(upper).view(), expected.view()), 1e-12);
        EXPECT_NEAR(upper.norm2(), std::pow(naive_norm(a.view()), 2), 1e-11);
    }
}

TEST(Summary, FloatRowsAreSummedInDouble) {
    const auto a = convert<float>(random_matrix<double>(500, 6).view());
    const auto expected = naive_gram(convert<double>(a.view()), Side::right);
    for (const auto kind : kinds) {
        Summary summary(kind, 6);
        summary.add<float>(a.view());
        EXPECT_LE(naive_distance(gram_of(summary).view(), expected.view()), 1e-11);
    }
}

TEST(Summary, RefusesWhatDoesNotBelong) {
    Summary summary(Summary::Kind::gram, 3);
    const auto rows = random_matrix<double>(2, 4);
    EXPECT_EQ(message_of([&] { summary.add<double>(rows.view()); }), "summary: rows of 4 numbers; expected rows of 3");
    EXPECT_EQ(message_of([&] { summary.merge(Summary(Summary::Kind::gram, 4)); }),
              "summary: rows of 4 numbers; expected rows of 3");
    EXPECT_EQ(message_of([&] { summary.merge(Summary(Summary::Kind::triangle, 3)); }),
              "summary: a triangle; expected a Gram matrix");
}

TEST(DenseEnd, SummarisesAndAppliesEitherSide) {
    const auto a = random_matrix<double>(40, 25);
    for (const Side side : {Side::left, Side::right}) {
        const DenseEnd<double> end(a.view(), side);
        const auto g = naive_gram(a, side);
        EXPECT_EQ(end.order(), side == Side::right ? 25 : 40);
        EXPECT_EQ(end.terms(), side == Side::right ? 40 : 25);
        for (const auto kind : kinds) {
            EXPECT_LE(naive_distance(gram_of(end.summarise(kind)).view(), g.view()), 1e-12);
        }
        EXPECT_NEAR(end.squared_norm(), std::pow(naive_norm(a.view()), 2), 1e-10);
        const auto q = orthonormal_columns(end.order(), 4, 8);
        const auto expected = naive_product(g.view(), q.view(), Op::none, Op::none);
        EXPECT_LE(naive_distance(end.apply_gram(q.view()).view(), expected.view()), 1e-11);
        const auto image = naive_product(q.view(), expected.view(), Op::transpose, Op::none);
        for (const auto kind : kinds) {
            EXPECT_LE(naive_distance(gram_of(end.summarise_image(kind, q)).view(), image.view()), 1e-11);
        }
    }
}

/// The factor is free for float; the direction is not.
TEST(DenseEnd, FloatOfAnyMagnitudeIsApplied) {
    for (const double scale : {1e-30, 1.0, 1e30}) {
        auto wide = random_matrix<double>(30, 8);
        for (Index i = 0; i < wide.size(); ++i) wide.data()[i] *= scale;
        const auto a = convert<float>(wide.view());
        const DenseEnd<float> end(a.view(), Side::right);
        EXPECT_TRUE(end.is_float());
        const auto q = orthonormal_columns(8, 1, 3);
        auto found = end.apply_gram(q.view());
        auto expected = naive_product(naive_gram(wide, Side::right).view(), q.view(), Op::none, Op::none);
        orthonormalise_columns(found.view());
        orthonormalise_columns(expected.view());
        EXPECT_LE(naive_distance(found.view(), expected.view()), 1e-5) << scale;
    }
}

/// A - A V V^T (right) or A - V V^T A (left), by loops.
double naive_residual(const Matrix<double>& a, Side side, const Matrix<double>& v) {
    const auto projector = naive_product(v.view(), v.view(), Op::none, Op::transpose);
    const auto kept = side == Side::right ? naive_product(a.view(), projector.view(), Op::none, Op::none)
                                          : naive_product(projector.view(), a.view(), Op::none, Op::none);
    double sum = 0;
    for (Index i = 0; i < a.size(); ++i) sum += std::pow(a.data()[i] - static_cast<double>(kept.data()[i]), 2);
    return sum;
}

TEST(Residual, EqualsItsDefinitionPastOneBlock) {
    for (const auto& [rows, cols] : {std::pair<Index, Index>{7, 5}, {1031, 11}, {13, 513}}) {
        const auto a = random_matrix<double>(rows, cols, 3);
        for (const Side side : {Side::left, Side::right}) {
            const auto v = orthonormal_columns(side == Side::right ? cols : rows, 3, 4);
            const double expected = naive_residual(a, side, v);
            EXPECT_NEAR(DenseEnd<double>(a.view(), side).residual_norm2(v), expected, 1e-12 * expected);
        }
    }
}

/// A space off by 1e-7, as a Gram matrix leaves it, comes back to rounding: ||A - A V V^T|| <= 1e-13 ||A||, whether the
/// data is in memory or comes in rows.
TEST(Polish, RepairsASpaceOfExactlyLowRank) {
    const auto sigma = geometric(12, 0.3);
    for (const Side side : {Side::left, Side::right}) {
        const auto a =
            side == Side::right ? matrix_with_spectrum(300, 40, sigma) : matrix_with_spectrum(40, 300, sigma);
        const DenseEnd<double> end(a.view(), side);
        const auto exact = dominant_basis<double>(a.view(), side, {.max_rank = 12, .method = SvdMethod::qr});
        auto rough = Matrix<double>::copy(exact.vectors.view());
        const auto noise = random_matrix<double>(40, 12, 9);
        for (Index i = 0; i < rough.size(); ++i) rough.data()[i] += 1e-7 * noise.data()[i];
        orthonormalise_columns(rough.view());
        ASSERT_GT(end.residual_norm2(rough), 1e-20);
        for (const bool by_rows : {false, true}) {
            const auto [factor, residual2] = by_rows ? end.Source::polish(rough) : end.polish(rough);
            ASSERT_EQ(factor.rows(), 12);
            ASSERT_EQ(factor.cols(), 40);
            EXPECT_LE(std::sqrt(residual2), 1e-13);
            const auto basis = basis_from_factor(factor.view(), {.max_rank = 12});
            EXPECT_LE(std::sqrt(end.residual_norm2(basis.vectors)), 1e-13);
            for (std::size_t i = 0; i < sigma.size(); ++i) EXPECT_NEAR(basis.sigma[i], sigma[i], 1e-14);
        }
    }
}

/// What a polished factor leaves is at right angles to it: the squares of both make up the data.
TEST(Polish, TellsWhatItLeaves) {
    for (const auto& [rows, cols] : {std::pair<Index, Index>{1031, 11}, {13, 513}, {9, 9}}) {
        const auto a = random_matrix<double>(rows, cols, 3);
        for (const Side side : {Side::left, Side::right}) {
            const DenseEnd<double> end(a.view(), side);
            const auto v = orthonormal_columns(end.order(), 4, 4);
            for (const bool by_rows : {false, true}) {
                const auto [factor, residual2] = by_rows ? end.Source::polish(v) : end.polish(v);
                const double all = end.squared_norm();
                EXPECT_NEAR(squared_norm<double>(factor.view()) + residual2, all, 1e-12 * all);
                EXPECT_GT(residual2, 0.01 * all);
            }
        }
    }
}

/// Fewer rows than columns of the space: nothing to orthonormalise by columns.
TEST(Polish, TakesMoreColumnsThanRows) {
    const auto a = random_matrix<double>(3, 9, 3);
    const DenseEnd<double> end(a.view(), Side::right);
    const auto polished = end.polish(orthonormal_columns(9, 5, 4));
    const double all = end.squared_norm();
    EXPECT_NEAR(squared_norm<double>(polished.factor.view()) + polished.residual2, all, 1e-12 * all);
}

}  // namespace
}  // namespace couplet
