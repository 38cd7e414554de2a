#include "couplet/linalg/magnitude.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "matrices.hpp"

namespace couplet {
namespace {

using support::message_of;
using support::random_matrix;

constexpr double tiniest = std::numeric_limits<double>::denorm_min();
constexpr double largest = std::numeric_limits<double>::max();

template <Real T>
Matrix<T> times(const Matrix<double>& a, double factor) {
    Matrix<T> result(a.rows(), a.cols());
    for (Index i = 0; i < a.size(); ++i) result.data()[i] = static_cast<T>(a.data()[i] * factor);
    return result;
}

/// sqrt(sum of squares), which long double holds for every double.
template <Real T>
long double wide_norm(const Matrix<T>& a) {
    long double sum = 0;
    for (Index i = 0; i < a.size(); ++i) {
        sum += static_cast<long double>(a.data()[i]) * static_cast<long double>(a.data()[i]);
    }
    return std::sqrt(sum);
}

TEST(Magnitude, SafeSquaresCanBeSquaredAgain) {
    for (const double edge : {least_safe_square, most_safe_square}) {
        EXPECT_TRUE(squares_are_safe(edge));
        EXPECT_TRUE(std::isnormal(edge * edge));
    }
    EXPECT_FALSE(squares_are_safe(std::nextafter(least_safe_square, 0)));
    EXPECT_FALSE(squares_are_safe(std::nextafter(most_safe_square, 1e200)));
    for (const double no : {0.0, -1.0, std::nan(""), std::numeric_limits<double>::infinity()}) {
        EXPECT_FALSE(squares_are_safe(no));
    }
}

TEST(Magnitude, ExponentsBringNumbersToOne) {
    for (const double x : {1.0, 1.999, 2.0, 3e-300, 7e300, tiniest, 5 * tiniest, largest}) {
        const double scaled = std::ldexp(x, -magnitude_exponent(x));
        EXPECT_GE(scaled, 1);
        EXPECT_LT(scaled, 2);
    }
    EXPECT_EQ(magnitude_exponent(0), 0);
    EXPECT_EQ(magnitude_exponent(std::nan("")), 0);
    EXPECT_EQ(magnitude_exponent(std::numeric_limits<double>::infinity()), 0);
}

TEST(Magnitude, PowersOfTwoRoundNothing) {
    const auto a = random_matrix<double>(1, 37);
    for (const int exponent : {0, 1, -1, 999, 1000, 1001, -1000, -1001, 1010, -1010}) {
        Matrix<double> there(1, 37);
        Matrix<double> back(1, 37);
        scale_by_power(a.data(), 37, exponent, there.data());
        scale_by_power(there.data(), 37, -exponent, back.data());
        EXPECT_TRUE(support::same_bits<double>(a.view(), back.view())) << exponent;
        EXPECT_EQ(there(0, 3), std::ldexp(a(0, 3), exponent));
    }
    // From the smallest number to 1 and back, and through float.
    double x = tiniest;
    scale_by_power(&x, 1, 1074, &x);
    EXPECT_EQ(x, 1);
    scale_by_power(&x, 1, -1074, &x);
    EXPECT_EQ(x, tiniest);
    const double wide = 1e200;
    float single = 0;
    scale_by_power(&wide, 1, -600, &single);
    EXPECT_EQ(single, static_cast<float>(std::ldexp(wide, -600)));
    double again = 0;
    scale_by_power(&single, 1, 600, &again);
    EXPECT_NEAR(again, wide, 1e-7 * wide);
}

TEST(ScaledNorm, IsTheNormOfAnyMagnitude) {
    // Rows longer than a block of the scaled sum, one row, one column, and a part of a wider matrix.
    const auto wide = random_matrix<double>(3, 4097);
    for (const double factor : {1e-300, 1e-200, 1e-160, 1e-72, 1.0, 1e72, 1e160, 1e200, 1e300}) {
        for (const auto& [rows, cols] : {std::pair<Index, Index>{3, 4097}, {1, 4096}, {1, 1}, {3, 5}}) {
            Matrix<double> part = Matrix<double>::copy(wide.view().rows_from(0, rows).cols_from(0, cols));
            const auto a = times<double>(part, factor);
            const auto size = scaled_norm<double>(a.view());
            const auto expected = static_cast<double>(wide_norm(a));
            EXPECT_NEAR(size.norm("x") / expected, 1, 1e-14) << factor;
            EXPECT_TRUE(squares_are_safe(size.squares)) << factor;
            EXPECT_EQ(size.exponent == 0, factor > 1e-80 && factor < 1e80) << factor;
        }
        const auto all = times<double>(wide, factor);
        const auto view = all.view().cols_from(7, 4000);
        const auto copied = Matrix<double>::copy(view);
        EXPECT_NEAR(scaled_norm<double>(view).norm("x") / static_cast<double>(wide_norm(copied)), 1, 1e-14);
    }
    for (const double factor : {1e-44, 1e-38, 1e38}) {
        const auto a = times<float>(random_matrix<double>(4, 5), factor);
        EXPECT_NEAR(scaled_norm<float>(a.view()).norm("x") / static_cast<double>(wide_norm(a)), 1, 1e-14) << factor;
    }
}

TEST(ScaledNorm, SumsDenormalsAndMixedMagnitudes) {
    Matrix<double> a = Matrix<double>::zeros(2, 2);
    a(0, 1) = 3 * tiniest;
    a(1, 0) = -4 * tiniest;
    EXPECT_EQ(scaled_norm<double>(a.view()).norm("x"), 5 * tiniest);
    a(0, 0) = 1e200;
    a(1, 1) = -1e-200;
    EXPECT_NEAR(scaled_norm<double>(a.view()).norm("x"), 1e200, 1e186);
    a(1, 1) = 1e200;
    EXPECT_NEAR(scaled_norm<double>(a.view()).norm("x") / 1e200, std::sqrt(2), 1e-14);
}

TEST(ScaledNorm, ZeroIsZeroAndNonsenseIsNone) {
    EXPECT_EQ(scaled_norm<double>(Matrix<double>::zeros(3, 4).view()).squares, 0);
    EXPECT_EQ(scaled_norm<double>(Matrix<double>::zeros(3, 4).view()).norm("x"), 0);
    EXPECT_EQ(scaled_norm<double>(Matrix<double>(0, 4).view()).squares, 0);
    for (const double bad : {std::nan(""), std::numeric_limits<double>::infinity()}) {
        auto a = Matrix<double>::zeros(2, 3);
        a(1, 1) = bad;
        EXPECT_TRUE(std::isnan(scaled_norm<double>(a.view()).squares));
    }
    auto a = Matrix<double>::zeros(1, 4);
    for (Index j = 0; j < 4; ++j) a(0, j) = largest;
    EXPECT_EQ(
        message_of([&] { scaled_norm<double>(a.view()).norm("client 3"); }),
        "client 3: a norm of about 1e309; expected a number between 4.9e-324 and 1.8e308. Scale the values first.");
}

TEST(MakeSquaresSafe, ScalesByAPowerOfTwoOnlyWhereItMust) {
    for (const double factor : {1e-310, 1e-300, 1e-160, 1e-70, 1.0, 1e70, 1e160, 1e300}) {
        const auto before = times<double>(random_matrix<double>(1, 9), factor);
        auto a = Matrix<double>::copy(before.view());
        const int exponent = make_squares_safe({a.data(), 9});
        EXPECT_EQ(exponent == 0, factor > 1e-80 && factor < 1e80) << factor;
        EXPECT_TRUE(squares_are_safe(squared_norm<double>(a.view())));
        scale_by_power(a.data(), 9, exponent, a.data());
        EXPECT_TRUE(support::same_bits<double>(a.view(), before.view())) << factor;
    }
    auto zero = Matrix<double>::zeros(1, 3);
    EXPECT_EQ(make_squares_safe({zero.data(), 3}), 0);
}

TEST(WithExponent, RefusesWhatIsNoNumber) {
    EXPECT_EQ(with_exponent(3, 4, "x", "a norm"), 48);
    EXPECT_EQ(with_exponent(-1.5, 1023, "x", "a norm"), -1.5 * std::ldexp(1.0, 1023));
    EXPECT_EQ(with_exponent(0, 5000, "x", "a norm"), 0);
    EXPECT_EQ(with_exponent(1, -1074, "x", "a norm"), tiniest);
    EXPECT_EQ(message_of([] { with_exponent(1, 1024, "dot", "an inner product"); }),
              "dot: an inner product of about 1e308; expected a number between 4.9e-324 and 1.8e308. Scale the values "
              "first.");
    EXPECT_EQ(message_of([] { with_exponent(-1, -1100, "dot", "an inner product"); }),
              "dot: an inner product of about 1e-331; expected a number between 4.9e-324 and 1.8e308. Scale the values "
              "first.");
}

}  // namespace
}  // namespace couplet
