#include "couplet/tt/tensor_train.hpp"

#include <gtest/gtest.h>

#include "trains.hpp"

namespace couplet {
namespace {

using support::inner_ranks;
using support::message_of;
using support::naive_full;
using support::random_tensor;
using support::random_train;

std::vector<Tensor<double>> cores_of(const std::vector<Shape>& shapes) {
    std::vector<Tensor<double>> cores;
    for (const auto& shape : shapes) cores.push_back(Tensor<double>::zeros(shape));
    return cores;
}

TEST(TensorTrain, DefaultIsOneZero) {
    const TensorTrain<double> train;
    EXPECT_EQ(train.shape(), Shape{1});
    EXPECT_EQ(train.ranks(), (std::vector<Index>{1, 1}));
    EXPECT_EQ(train.full().data()[0], 0);
}

TEST(TensorTrain, ReportsShapeRanksAndParameters) {
    const auto train = random_train<double>({4, 5, 3}, {2, 3, 6, 1});
    EXPECT_EQ(train.order(), 3);
    EXPECT_EQ(train.shape(), (Shape{4, 5, 3}));
    EXPECT_EQ(train.left_rank(), 2);
    EXPECT_EQ(train.parameters(), 2 * 4 * 3 + 3 * 5 * 6 + 6 * 3);
    EXPECT_EQ(train.left_unfolding(1).rows, 15);
    EXPECT_EQ(train.left_unfolding(1).cols, 6);
    EXPECT_EQ(train.right_unfolding(1).rows, 3);
    EXPECT_EQ(train.right_unfolding(1).cols, 30);
    EXPECT_EQ(train.orthogonality(1), Orthogonality::none);
}

/// Every entry within 1e-13 (float: 1e-5) of the definition.
template <Real T>
void check_full(const TensorTrain<T>& train) {
    const auto expected = naive_full(train);
    const auto full = train.full();
    ASSERT_EQ(static_cast<std::size_t>(full.size()), expected.size());
    double largest = 0;
    for (const auto e : expected) largest = std::max(largest, std::abs(static_cast<double>(e)));
    const double tolerance = (std::same_as<T, float> ? 1e-5 : 1e-13) * largest;
    for (Index i = 0; i < full.size(); ++i) {
        ASSERT_NEAR(full.data()[i], static_cast<double>(expected[static_cast<std::size_t>(i)]), tolerance);
        if (train.left_rank() == 1) {
            const auto at = train.shape().indices(i);
            ASSERT_NEAR(train.at(at), full.data()[i], tolerance);
        }
    }
}

TEST(TensorTrain, FullAndElementsFollowTheDefinition) {
    check_full(random_train<double>({5}, {1, 1}));
    check_full(random_train<double>({1, 1, 1}, {1, 2, 3, 1}));
    check_full(random_train<double>({3, 4, 5, 2}, {1, 2, 7, 3, 1}));
    check_full(random_train<float>({3, 4, 5, 2}, {1, 2, 7, 3, 1}));
    check_full(random_train<double>({4}, {3, 1}));
    check_full(random_train<double>({3, 4, 5}, {3, 2, 4, 1}));
    EXPECT_EQ(random_train<double>({3, 4}, {2, 2, 1}).full().shape(), (Shape{2, 3, 4}));
}

TEST(TensorTrain, KeepsLabels) {
    auto train = random_train<double>({2, 3}, {1, 2, 1});
    const Labels labels{{"patient", {"a", "b"}}, {"drug", {}}};
    train.set_labels(labels);
    EXPECT_EQ(train.labels(), labels);
    EXPECT_EQ(train.full().labels(), labels);
    EXPECT_EQ(message_of([&] {
                  train.set_labels({{"patient", {}}});
              }),
              "labels: 1 modes named; expected 2 for shape 2x3");
}

TEST(TensorTrain, ReleaseHandsTheCoresOver) {
    auto train = random_train<double>({2, 3}, {1, 2, 1});
    const auto cores = std::move(train).release();
    EXPECT_EQ(cores.size(), 2U);
    EXPECT_EQ(train.shape(), Shape{1});
}

TEST(TensorTrain, RefusesCoresThatDoNotFit) {
    const auto message = [](const std::vector<Shape>& shapes) {
        return message_of([&] { TensorTrain<double>(cores_of(shapes)); });
    };
    EXPECT_EQ(message({}), "tensor train: no cores; expected at least one");
    EXPECT_EQ(message({{1, 2}}), "core 1: shape 1x2; expected three modes of at least 1");
    EXPECT_EQ(message({{1, 2, 0}}), "core 1: shape 1x2x0; expected three modes of at least 1");
    EXPECT_EQ(message({{1, 2, 3}, {2, 4, 1}}),
              "core 2: shape 2x4x1 after one of shape 1x2x3; expected a first size of 3");
    EXPECT_EQ(message({{1, 2, 3}}), "core 1: shape 1x2x3; expected a last size of 1");
    EXPECT_EQ(message_of([] {
                  TensorTrain<double>(cores_of({{1, 2, 1}}), {Orthogonality::left, Orthogonality::none});
              }),
              "tensor train: 2 orthogonality entries; expected 1");
}

TEST(TensorTrain, RefusesWrongElementAccess) {
    const auto open = random_train<double>({2}, {3, 1});
    const std::vector<Index> zero{0};
    EXPECT_EQ(message_of([&] { open.at(zero); }), "element access: a train with R_0 = 3; expected R_0 = 1");
    const auto train = random_train<double>({2, 3}, {1, 2, 1});
    const std::vector<Index> outside{1, 3};
    EXPECT_THROW(train.at(outside), InputError);
    EXPECT_THROW(train.at(zero), InputError);
}

TEST(TensorTrain, FullRefusesWhatDoesNotFit) {
    auto ranks = inner_ranks(61, 1);
    ranks.front() = 4;
    const auto train = random_train<double>(std::vector<Index>(61, 2), ranks);
    EXPECT_THROW(train.full(), InputError);
}

template <Real T>
TensorTrain<T> with_scales(const std::vector<double>& scales) {
    std::vector<Tensor<T>> cores;
    const std::size_t order = scales.size();
    for (std::size_t n = 0; n < order; ++n) {
        cores.push_back(support::random_tensor<T>({n == 0 ? 1 : 3, 4, n + 1 == order ? 1 : 3}, n + 1, scales[n]));
    }
    return TensorTrain<T>(std::move(cores));
}

TEST(TensorTrain, ProductsOnTheWayMayBeOfAnyMagnitude) {
    for (const auto& scales : {std::vector<double>{1e-300, 1e200, 1e200},
                               {1e200, 1e200, 1e-300},
                               {1e300, 1e-200, 1e-200},
                               {1e-200, 1e-200, 1e300},
                               {1e-150, 1e-150, 1e-5},
                               {1e150, 1e150, 1e5}}) {
        const auto train = with_scales<double>(scales);
        const auto expected = support::naive_full(train);
        const auto full = train.full();
        for (Index i = 0; i < full.size(); ++i) {
            const auto value = static_cast<double>(expected[static_cast<std::size_t>(i)]);
            EXPECT_NEAR(full.data()[i] / value, 1, 1e-11);
            EXPECT_NEAR(train.at(full.shape().indices(i)) / value, 1, 1e-11);
        }
    }
    const auto single = with_scales<float>({1e-30, 1e25, 1e25});
    const auto expected = support::naive_full(single);
    for (Index i = 0; i < single.full().size(); ++i) {
        EXPECT_NEAR(single.full().data()[i], static_cast<double>(expected[static_cast<std::size_t>(i)]), 1e16);
    }
}

TEST(TensorTrain, EntriesThatAreNoNumbersAreRefused) {
    const auto huge = with_scales<double>({1e200, 1e200});
    const std::string range = "; expected entries between 4.94066e-324 and 1.79769e+308. Scale the cores first.";
    EXPECT_EQ(support::message_of([&] { huge.full(); }), "tensor train: entries beyond the largest number" + range);
    const Index first[] = {0, 0};
    EXPECT_EQ(support::message_of([&] { huge.at(first); }), "tensor train: entries beyond the largest number" + range);
    const auto tiny = with_scales<double>({1e-200, 1e-200});
    EXPECT_EQ(support::message_of([&] { tiny.full(); }),
              "tensor train: entries below the smallest number, all of them" + range);
    EXPECT_EQ(tiny.at(first), 0);
    const auto zero = with_scales<double>({1e-200, 0, 1e-200});
    EXPECT_EQ(zero.full().data()[3], 0);
}

}  // namespace
}  // namespace couplet
