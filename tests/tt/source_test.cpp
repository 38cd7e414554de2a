#include "couplet/tt/source.hpp"

#include <gtest/gtest.h>

#include "couplet/tt/tt_svd.hpp"
#include "row_source.hpp"
#include "trains.hpp"

namespace couplet {
namespace {

using support::naive_distance;
using support::naive_product;
using support::orthonormal_columns;
using support::random_matrix;
using support::random_tensor;
using support::random_train;
using support::true_error;

/// V^T A (left) or A V (right), by loops.
Matrix<double> naive_image(const Matrix<double>& a, Side side, const Matrix<double>& v) {
    return side == Side::left ? naive_product(v.view(), a.view(), Op::transpose, Op::none)
                              : naive_product(a.view(), v.view(), Op::none, Op::none);
}

Matrix<double> end_matrix(Side side, Index own, Index other) {
    return side == Side::left ? random_matrix<double>(own, other) : random_matrix<double>(other, own);
}

template <Real T>
TensorView<const T> as_tensor(const Matrix<T>& a) {
    return {a.data(), {a.rows(), a.cols()}};
}

template <Real T>
Tensor<T> owned_tensor(const Matrix<T>& a) {
    return Tensor<T>::copy(as_tensor(a));
}

/// Past one block of 512, at both ends, from the caller's memory and then in place.
TEST(DenseSource, ProjectsFromACopyAndInPlace) {
    for (const Side side : {Side::left, Side::right}) {
        const Index other = 1100;
        const auto a = end_matrix(side, 6, other);
        const auto before = Matrix<double>::copy(a.view());
        const auto v = orthonormal_columns(6, 4, 5);
        auto source = std::move(*dense_source(as_tensor(a))).project(side, v, {});
        ASSERT_EQ(source->size(), 4 * other);
        EXPECT_EQ(naive_distance(a.view(), before.view()), 0) << "the caller's memory stays as it is";
        const auto once = naive_image(a, side, v);
        const auto w = orthonormal_columns(4, 3, 6);
        source = std::move(*source).project(side, w, {});
        const auto twice = naive_image(once, side, w);
        const auto found = std::move(*source).take({twice.rows(), twice.cols()});
        EXPECT_LE(naive_distance(found.view().unfold(1), twice.view()), 1e-12);
    }
}

TEST(DenseSource, ScalingTakesMemoryOfItsOwn) {
    const std::vector<double> data{1e-200, 3e-200};
    auto source = std::move(*dense_source(TensorView<const double>(data.data(), {2, 1}))).scale(600);
    const auto scaled = std::move(*source).take({2, 1});
    EXPECT_DOUBLE_EQ(scaled.data()[1] / scaled.data()[0], 3.0);
    EXPECT_GT(scaled.data()[0], 1e-30);
    EXPECT_EQ(data[0], 1e-200);
}

TEST(DenseSource, KnowsItsNormAndItsLargest) {
    const std::vector<double> data{3, -4};
    const auto source = dense_source(TensorView<const double>(data.data(), {2}));
    EXPECT_EQ(source->norm().squares, 25);
    EXPECT_EQ(source->max_magnitude(), 4);
    EXPECT_TRUE(source->offers_left(2));
    EXPECT_NO_THROW(source->require_finite({2}, "tensor"));
}

/// Many parts and a last block of one row; float rounds each entry once, however long the sums are.
TEST(DenseSource, ProjectsFloatWithOneRounding) {
    for (const Side side : {Side::left, Side::right}) {
        for (const Index other : {1, 511, 512, 513, 8193}) {
            const auto a = convert<float>(end_matrix(side, 37, other).view());
            const auto v = orthonormal_columns(37, 5, 5);
            const auto exact = naive_image(convert<double>(a.view()), side, v);
            for (const bool in_place : {false, true}) {
                auto source = in_place ? dense_source(owned_tensor(a)) : dense_source(as_tensor(a));
                source = std::move(*source).project(side, v, {});
                const auto found = std::move(*source).take({exact.rows(), exact.cols()});
                for (Index i = 0; i < exact.size(); ++i) {
                    const double limit = 6.1e-8 * std::abs(exact.data()[i]) + 1e-13;
                    ASSERT_NEAR(static_cast<double>(found.data()[i]), exact.data()[i], limit) << other;
                }
            }
        }
    }
}

TEST(DenseSource, TellsWhatIsConsumedInSteps) {
    for (const Side side : {Side::left, Side::right}) {
        const auto a = end_matrix(side, 6, 8192 + 100);
        for (const Index rank : {3, 4}) {
            std::vector<int> told(static_cast<std::size_t>(a.size()), 0);
            Index calls = 0;
            const auto v = orthonormal_columns(6, rank, 5);
            auto source = std::move(*dense_source(as_tensor(a))).project(side, v, [&](Index first, Index count) {
                ++calls;
                for (Index i = first; i < first + count; ++i) ++told[static_cast<std::size_t>(i)];
            });
            // Half as large as the tensor, or less: nobody needs to let go of anything.
            EXPECT_EQ(calls, rank == 3 ? 0 : (side == Side::left ? 12 : 2));
            EXPECT_EQ(std::ranges::count(told, 1), rank == 3 ? 0 : a.size());
            const auto exact = naive_image(a, side, v);
            const auto found = std::move(*source).take({exact.rows(), exact.cols()});
            EXPECT_LE(naive_distance(found.view().unfold(1), exact.view()), 1e-11);
        }
    }
}

/// Hands out the rows of a tensor in memory, `count` at a time, and counts how often all of them were read.
support::RowReader rows_of(const Tensor<double>& x, Index count, int* reads) {
    return [&x, count, reads](const support::RowSink& sink) {
        ++*reads;
        const auto rows = x.view().unfold(1);
        for (Index i = 0; i < rows.rows; i += count) sink(rows.rows_from(i, std::min(count, rows.rows - i)));
    };
}

/// max |a - b| over two trains of small tensors.
double distance(const TensorTrain<double>& a, const TensorTrain<double>& b) {
    const auto x = a.full();
    const auto y = b.full();
    double worst = 0;
    for (Index i = 0; i < x.size(); ++i) worst = std::max(worst, std::abs(x.data()[i] - y.data()[i]));
    return worst;
}

Tensor<double> noisy_train(const std::vector<Index>& sizes, double noise) {
    auto x = random_train<double>(sizes, support::inner_ranks(sizes.size(), 3), 4).full();
    const auto more = random_tensor<double>(Shape(sizes), 5);
    for (Index i = 0; i < x.size(); ++i) x.data()[i] += noise * more.data()[i];
    return x;
}

/// A tensor that is never in memory decomposes to the same train, with the same bound, by every engine.
TEST(RowTensor, DecomposesToTheSameTrain) {
    for (const auto& sizes : {std::vector<Index>{60, 6, 5}, {7, 4, 3, 5, 2}, {90, 11}, {40, 2, 2, 2, 2, 2, 2}}) {
        const auto x = noisy_train(sizes, 1e-3);
        for (const auto method : {SvdMethod::automatic, SvdMethod::gram, SvdMethod::qr, SvdMethod::random}) {
            for (const TtSvdOptions& wanted :
                 {TtSvdOptions{.eps = 0.05}, TtSvdOptions{.max_rank = 3}, TtSvdOptions{.eps = 0.02, .max_rank = 4}}) {
                SCOPED_TRACE(testing::Message()
                             << "order " << sizes.size() << " " << to_string(method) << " eps " << wanted.eps);
                auto options = wanted;
                options.method = method;
                const auto dense = tt_svd<double>(x.view(), options);
                int reads = 0;
                const auto rows = tt_svd<double>(std::make_unique<support::RowTensor>(rows_of(x, 7, &reads), x.size()),
                                                 x.shape(), options);
                EXPECT_LE(distance(dense.train, rows.train), 1e-6 * dense.norm);
                EXPECT_NEAR(rows.rel_error, dense.rel_error, 1e-9);
                EXPECT_NEAR(rows.norm, dense.norm, 1e-12 * dense.norm);
                EXPECT_LE(true_error(x, rows.train), rows.rel_error * (1 + 1e-9));
            }
        }
    }
}

/// Two reads are all that a Gram matrix and a projection take; after that the rest is in memory.
TEST(RowTensor, IsReadTwice) {
    const auto x = noisy_train({60, 6, 5}, 1e-3);
    int reads = 0;
    tt_svd<double>(std::make_unique<support::RowTensor>(rows_of(x, 16, &reads), x.size()), x.shape(), {.max_rank = 3});
    EXPECT_EQ(reads, 2);
}

TEST(RowTensor, SizesThatDisagreeAreRefused) {
    const auto x = noisy_train({6, 5}, 0);
    int reads = 0;
    EXPECT_EQ(support::message_of([&] {
                  tt_svd<double>(std::make_unique<support::RowTensor>(rows_of(x, 2, &reads), x.size()), {6, 6}, {});
              }),
              "tensor: 30 elements; expected 36, as its shape 6x6 has");
    EXPECT_EQ(reads, 0);
}

}  // namespace
}  // namespace couplet
