#include "couplet/linalg/source.hpp"

#include <gtest/gtest.h>

#include "couplet/linalg/qr.hpp"
#include "matrices.hpp"

namespace couplet {
namespace {

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

}  // namespace
}  // namespace couplet
