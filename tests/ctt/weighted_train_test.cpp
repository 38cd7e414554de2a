#include "weighted_train.hpp"

#include <gtest/gtest.h>

#include "couplet/linalg/products.hpp"

namespace couplet {
namespace {

TEST(WeightedTrain, HasRowsAsLongAsTheirWeights) {
    Tensor<double> core(Shape{2, 3, 1});
    for (Index i = 0; i < core.size(); ++i) core.data()[i] = 0;
    core.data()[0] = core.data()[4] = 1;  // e_1 and e_2
    std::vector<Tensor<double>> cores;
    cores.push_back(std::move(core));
    const Features features{TensorTrain<double>(std::move(cores)), {3, 0.5}, true, {}};
    const Matrix<double> rows = expanded(weighted_train(features));
    ASSERT_EQ(rows.rows(), 2);
    ASSERT_EQ(rows.cols(), 3);
    EXPECT_EQ(rows(0, 0), 3);
    EXPECT_EQ(rows(1, 1), 0.5);
    EXPECT_EQ(squared_norm<double>(rows.view()), 9.25);
}

TEST(WeightedTrain, RowsOfTooManyNumbersAreNotMultipliedOut) {
    EXPECT_TRUE(can_expand(64, Shape{1024, 1024}));
    EXPECT_FALSE(can_expand(65, Shape{1024, 1024}));
}

}  // namespace
}  // namespace couplet
