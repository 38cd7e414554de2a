#include "couplet/tt/contraction.hpp"

#include <gtest/gtest.h>

#include "couplet/tt/rounding.hpp"
#include "trains.hpp"

namespace couplet {
namespace {

using support::message_of;
using support::naive_full;
using support::random_tensor;
using support::random_train;

/// ||result - naive|| <= 1e-13 (float 1e-5) ||X|| ||W||.
template <Real T>
void check(const Shape& shape, const TensorTrain<T>& train) {
    SCOPED_TRACE(shape.to_string() + " with " + train.shape().to_string());
    const auto x = random_tensor<T>(shape, 9);
    const auto result = contract_right<T>(x.view(), train);
    const auto w = naive_full(train);
    const Index inner = train.shape().size();
    const Index rows = shape.size() / inner;
    ASSERT_EQ(result.rows(), rows);
    ASSERT_EQ(result.cols(), train.left_rank());
    const double tolerance = (std::same_as<T, float> ? 1e-5 : 1e-13) * static_cast<double>(support::naive_norm_of(x)) *
                             static_cast<double>(support::naive_norm_of(w.data(), w.size()));
    for (Index i = 0; i < rows; ++i) {
        for (Index a = 0; a < train.left_rank(); ++a) {
            long double sum = 0;
            for (Index j = 0; j < inner; ++j) {
                sum += static_cast<long double>(x.data()[i * inner + j]) * w[static_cast<std::size_t>(a * inner + j)];
            }
            ASSERT_NEAR(result(i, a), static_cast<double>(sum), tolerance);
        }
    }
}

TEST(ContractRight, AgreesWithTheSum) {
    check({5}, random_train<double>({5}, {1, 1}));
    check({7, 5}, random_train<double>({5}, {3, 1}));
    check({4, 3, 5, 2}, random_train<double>({5, 2}, {2, 3, 1}));
    check({4, 3, 5, 2}, random_train<double>({3, 5, 2}, {6, 4, 3, 1}));
    check({4, 3, 5, 2}, random_train<double>({4, 3, 5, 2}, {2, 2, 4, 3, 1}));
    check({4, 3, 5, 2}, random_train<float>({3, 5, 2}, {6, 4, 3, 1}));
    check({2, 1, 1}, random_train<double>({1, 1}, {1, 2, 1}));
}

TEST(ContractRight, ProjectsOntoOrthonormalCores) {
    // X in the span of W: contracting and expanding again gives X back.
    const auto w = right_orthonormalise(random_train<double>({4, 5}, {3, 6, 1})).train;
    const auto full = w.full();  // 3 x 4 x 5, its rows a basis once the first core is orthonormal too
    auto basis = transpose(full.view().unfold(1));
    const auto coefficients = support::random_matrix<double>(7, 3);
    const auto data = product<double>(coefficients.view(), basis.view(), Op::none, Op::transpose);
    Tensor<double> x({7, 4, 5});
    std::copy_n(data.data(), data.size(), x.data());
    const auto contracted = contract_right<double>(x.view(), w);
    const auto overlap = product<double>(basis.view(), basis.view(), Op::transpose);
    const auto expected = product<double>(coefficients.view(), overlap.view());
    EXPECT_LE(support::naive_distance(contracted.view(), expected.view()),
              1e-12 * support::naive_norm(expected.view()));
}

TEST(ContractRight, RefusesModesThatDisagree) {
    const auto train = random_train<double>({3, 5}, {2, 3, 1});
    const auto wrong = random_tensor<double>({4, 5, 3});
    EXPECT_EQ(message_of([&] { contract_right<double>(wrong.view(), train); }),
              "contraction: a tensor of shape 4x5x3; expected last modes 3x5 as in the train");
    const auto small = random_tensor<double>(Shape{5});
    EXPECT_EQ(message_of([&] { contract_right<double>(small.view(), train); }),
              "contraction: a tensor of shape 5; expected last modes 3x5 as in the train");
}

}  // namespace
}  // namespace couplet
