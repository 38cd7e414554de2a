#include "couplet/audit/second_moment.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "couplet/core/random.hpp"
#include "couplet/linalg/products.hpp"
#include "couplet/linalg/qr.hpp"

namespace couplet {
namespace {

/// 15 people: feature 0 has everybody, feature j > 0 the first j.
Matrix<double> people() {
    auto x = Matrix<double>::zeros(15, 14);
    for (Index i = 0; i < 15; ++i) {
        for (Index j = 0; j < 14; ++j) x(i, j) = j == 0 || i < j ? 1 : 0;
    }
    return x;
}

TEST(SecondMoment, OfAnOrthogonalMixtureIsThatOfThePatients) {
    const auto x = people();
    Random random(1);
    Matrix<double> turn(15, 15);
    for (Index i = 0; i < turn.size(); ++i) turn.data()[i] = random.normal();
    orthonormalise_columns(turn.view());
    const auto moment = second_moment_disclosure(product<double>(turn.view(), x.view()).view(), x.view());
    EXPECT_LT(moment.relative_error, 1e-7);
    EXPECT_EQ(moment.small_cells, 10);
    EXPECT_EQ(moment.disclosed, 10);
}

TEST(SecondMoment, IsMeasuredAgainstTheDenseMatrix) {
    const auto x = people();
    auto d = Matrix<double>::copy(x.view().rows_from(0, 6));
    d(2, 3) = 4;
    const auto truth = gram<double>(x.view(), Side::right);
    auto error = gram<double>(d.view(), Side::right);
    for (Index i = 0; i < error.size(); ++i) error.data()[i] -= truth.data()[i];
    const double expected = std::sqrt(squared_norm<double>(error.view()) / squared_norm<double>(truth.view()));
    const auto moment = second_moment_disclosure(d.view(), x.view());
    EXPECT_NEAR(moment.relative_error, expected, 1e-12);
    // Features 1 to 6 rest on people that are there, but for 3, whose sum was spoiled.
    EXPECT_EQ(moment.disclosed, 5);
}

TEST(SecondMoment, OfNothing) {
    const auto x = people();
    const auto moment = second_moment_disclosure(Matrix<double>(0, 14).view(), x.view());
    EXPECT_EQ(moment.relative_error, 1);
    EXPECT_EQ(moment.disclosed, 0);
    EXPECT_EQ(second_moment_disclosure(x.view(), Matrix<double>::zeros(2, 14).view()).relative_error, 0);
}

}  // namespace
}  // namespace couplet
