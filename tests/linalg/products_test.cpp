#include "couplet/linalg/products.hpp"

#include <gtest/gtest.h>

#include "couplet/core/operations.hpp"
#include "matrices.hpp"

namespace couplet {
namespace {

using support::message_of;
using support::naive_distance;
using support::naive_norm;
using support::naive_product;
using support::random_matrix;
using support::same_bits;
using support::ThreadCountGuard;

struct Sizes {
    Index m, n, k;
};

/// ||C - C_naive|| <= 4 (k + 8) u ||A|| ||B|| for C = 2 op(A) op(B) - 3 C_old inside a larger matrix.
template <Real T>
void check_multiply(const Sizes& s, Op op_a, Op op_b) {
    SCOPED_TRACE(testing::Message() << s.m << "x" << s.n << "x" << s.k << " ops " << int(op_a) << int(op_b));
    const auto a = op_a == Op::none ? random_matrix<T>(s.m, s.k, 1) : random_matrix<T>(s.k, s.m, 1);
    const auto b = op_b == Op::none ? random_matrix<T>(s.k, s.n, 2) : random_matrix<T>(s.n, s.k, 2);
    auto frame = random_matrix<T>(s.m, s.n + 3, 3);
    const auto before = Matrix<T>::copy(frame.view());
    const MatrixView<T> c(frame.data() + 1, s.m, s.n, s.n + 3);
    multiply<T>(a.view(), op_a, b.view(), op_b, c, T(2), T(-3));
    auto expected = naive_product(a.view(), b.view(), op_a, op_b);
    for (Index i = 0; i < s.m; ++i) {
        for (Index j = 0; j < s.n; ++j) {
            expected(i, j) = 2 * expected(i, j) - 3 * static_cast<double>(before(i, j + 1));
        }
        EXPECT_EQ(frame(i, 0), before(i, 0));
        EXPECT_EQ(frame(i, s.n + 1), before(i, s.n + 1));
    }
    const double u = std::numeric_limits<T>::epsilon();
    const double scale = naive_norm(a.view()) * naive_norm(b.view()) + 3 * naive_norm(before.view());
    EXPECT_LE(naive_distance(MatrixView<const T>(c), expected.view()), 4 * static_cast<double>(s.k + 8) * u * scale);
}

TEST(Multiply, AgreesWithThreeLoops) {
    // Serial; split over the rows; over the columns; over a long inner size.
    const Sizes all[] = {{1, 1, 1},      {1, 7, 3},      {13, 1, 5},      {2, 3, 1},     {31, 29, 37},
                         {2001, 37, 53}, {37, 2001, 53}, {17, 13, 40009}, {193, 97, 211}};
    for (const auto& s : all) {
        for (const Op op_a : {Op::none, Op::transpose}) {
            for (const Op op_b : {Op::none, Op::transpose}) {
                check_multiply<double>(s, op_a, op_b);
                check_multiply<float>(s, op_a, op_b);
            }
        }
    }
}

TEST(Multiply, CountsItsOperationsWhateverTheThreads) {
    const auto a = random_matrix<double>(2001, 37, 1);
    const auto b = random_matrix<double>(37, 53, 2);
    const ThreadCountGuard guard;
    for (const int threads : {1, 2}) {
        set_thread_count(threads);
        const OperationCount count;
        product<double>(a.view(), b.view());
        EXPECT_EQ(count.total(), 2.0 * 2001 * 37 * 53);
    }
}

TEST(Multiply, BetaZeroNeverReadsC) {
    const double nan = std::numeric_limits<double>::quiet_NaN();
    for (const Sizes& s : {Sizes{3, 4, 5}, Sizes{17, 13, 40009}, Sizes{3, 4, 0}}) {
        const auto a = random_matrix<double>(s.m, s.k);
        const auto b = random_matrix<double>(s.k, s.n);
        Matrix<double> c(s.m, s.n);
        std::fill_n(c.data(), c.size(), nan);
        multiply<double>(a.view(), Op::none, b.view(), Op::none, c.view());
        EXPECT_TRUE(std::isfinite(naive_norm(c.view())));
    }
}

TEST(Multiply, EmptySizes) {
    const Matrix<double> a(3, 0);
    const Matrix<double> b(0, 2);
    const auto c = product<double>(a.view(), b.view());
    EXPECT_EQ(naive_norm(c.view()), 0);
    EXPECT_EQ(c.rows(), 3);
    EXPECT_EQ(c.cols(), 2);
    EXPECT_EQ(product<double>(b.view(), random_matrix<double>(2, 4).view()).size(), 0);
    auto kept = random_matrix<double>(3, 2);
    const auto before = Matrix<double>::copy(kept.view());
    multiply<double>(a.view(), Op::none, b.view(), Op::none, kept.view(), 1.0, 2.0);
    EXPECT_EQ(kept(2, 1), 2 * before(2, 1));
}

TEST(Multiply, RefusesShapesThatDisagree) {
    const Matrix<double> a(2, 3);
    const Matrix<double> b(4, 5);
    Matrix<double> c(2, 5);
    EXPECT_EQ(message_of([&] { multiply<double>(a.view(), Op::none, b.view(), Op::none, c.view()); }),
              "matrix product: 2x3 times 4x5 into 2x5; expected sizes that agree");
    EXPECT_EQ(message_of([&] { multiply<double>(a.view(), Op::transpose, b.view(), Op::none, c.view()); }),
              "matrix product: 2x3 transposed times 4x5 into 2x5; expected sizes that agree");
}

/// ||G - G_naive|| <= 4 (k + 8) u ||A||^2 with u of double, also for float data.
template <Real T>
void check_gram(Index rows, Index cols, Side side) {
    SCOPED_TRACE(testing::Message() << rows << "x" << cols << " side " << int(side));
    const auto padded = random_matrix<T>(rows, cols + 2);
    const auto a = padded.view().cols_from(1, cols);
    const auto g = gram<T>(a, side);
    const auto expected = side == Side::right ? naive_product(a, a, Op::transpose, Op::none)
                                              : naive_product(a, a, Op::none, Op::transpose);
    const double norm = naive_norm(a);
    const double k = static_cast<double>(side == Side::right ? rows : cols);
    EXPECT_LE(naive_distance(g.view(), expected.view()),
              4 * (k + 8) * std::numeric_limits<double>::epsilon() * norm * norm);
    for (Index i = 0; i < g.rows(); ++i) {
        for (Index j = 0; j < i; ++j) ASSERT_EQ(g(i, j), g(j, i));
    }
}

TEST(Gram, AgreesWithThreeLoops) {
    // One past: a part of 8 rows, the tile of 192, the tiled route from 384, the float blocks of 64 Ki
    // elements and of 1024 rows.
    const std::pair<Index, Index> shapes[] = {{1, 1},    {1, 13},   {13, 1},     {9, 5},     {7, 193},   {31, 383},
                                              {17, 384}, {19, 385}, {1025, 385}, {70001, 3}, {3001, 53}, {5, 577}};
    for (const auto& [long_side, n] : shapes) {
        check_gram<double>(long_side, n, Side::right);
        check_gram<double>(n, long_side, Side::left);
        check_gram<float>(long_side, n, Side::right);
        check_gram<float>(n, long_side, Side::left);
    }
}

TEST(Gram, OfNothingIsZeroOrEmpty) {
    EXPECT_EQ(naive_norm(gram<double>(Matrix<double>(0, 3).view(), Side::right).view()), 0);
    EXPECT_EQ(gram<float>(Matrix<float>(3, 0).view(), Side::right).size(), 0);
    EXPECT_EQ(gram<double>(Matrix<double>(0, 3).view(), Side::left).size(), 0);
}

template <Real T>
void check_norms(Index rows, Index cols) {
    const auto padded = random_matrix<T>(rows, cols + 1);
    const auto a = padded.view().cols_from(0, cols);
    const double norm = naive_norm(a);
    EXPECT_NEAR(squared_norm<T>(a), norm * norm, 1e-13 * norm * norm);
    double largest = 0;
    for (Index i = 0; i < rows; ++i) {
        for (Index j = 0; j < cols; ++j) largest = std::max(largest, std::abs(static_cast<double>(a(i, j))));
    }
    EXPECT_EQ(max_magnitude<T>(a), largest);
}

TEST(Norms, AgreeWithOneLoop) {
    for (const auto& [rows, cols] : {std::pair<Index, Index>{1, 1}, {1, 9}, {9, 1}, {7, 17}, {4001, 1009}}) {
        check_norms<double>(rows, cols);
        check_norms<float>(rows, cols);
    }
    EXPECT_EQ(squared_norm<double>(Matrix<double>(0, 3).view()), 0);
    EXPECT_EQ(max_magnitude<double>(Matrix<double>(3, 0).view()), 0);
}

TEST(Norms, MaxMagnitudeShowsNanAndInfinity) {
    auto a = random_matrix<double>(3, 4);
    a(1, 2) = -std::numeric_limits<double>::infinity();
    EXPECT_TRUE(std::isinf(max_magnitude<double>(a.view())));
    a(0, 1) = std::numeric_limits<double>::quiet_NaN();
    EXPECT_TRUE(std::isnan(max_magnitude<double>(a.view())));
}

TEST(Products, BitsDoNotDependOnTheThreadCount) {
    const ThreadCountGuard guard;
    const auto tall = random_matrix<double>(6007, 67);
    const auto square = random_matrix<double>(401, 397);
    const auto single = random_matrix<float>(6007, 67);
    std::vector<Matrix<double>> first;
    double norm = 0;
    Matrix<float> first_float;
    for (const int threads : {1, 2, 3, 7}) {
        set_thread_count(threads);
        std::vector<Matrix<double>> now;
        now.push_back(gram<double>(tall.view(), Side::right));
        now.push_back(gram<double>(square.view(), Side::left));
        now.push_back(gram<float>(single.view(), Side::right));
        now.push_back(product<double>(tall.view(), tall.view(), Op::transpose));
        now.push_back(product<double>(tall.view(), square.view().rows_from(0, 67)));
        now.push_back(product<double>(square.view().cols_from(0, 67), tall.view(), Op::none, Op::transpose));
        auto in_float = product<float>(single.view(), single.view(), Op::transpose);
        const double now_norm = squared_norm<double>(tall.view());
        if (threads == 1) {
            first = std::move(now);
            first_float = std::move(in_float);
            norm = now_norm;
            continue;
        }
        for (std::size_t i = 0; i < now.size(); ++i) {
            EXPECT_TRUE(same_bits<double>(now[i].view(), first[i].view())) << i << " at " << threads;
        }
        EXPECT_TRUE(same_bits<float>(in_float.view(), first_float.view()));
        EXPECT_EQ(now_norm, norm);
    }
}

}  // namespace
}  // namespace couplet
