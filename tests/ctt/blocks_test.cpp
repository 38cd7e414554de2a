#include "couplet/ctt/blocks.hpp"

#include "couplet/core/error.hpp"
#include "couplet/ctt/client.hpp"
#include "couplet/linalg/products.hpp"
#include "trains.hpp"

namespace couplet {
namespace {

using namespace support;

TEST(FeatureBlockTest, TrainAndDenseFormHoldTheSameRows) {
    const FeatureBlock train(random_train<double>({3, 4, 2}, {5, 2, 3, 1}));
    EXPECT_FALSE(train.is_dense());
    EXPECT_EQ(train.rows(), 5);
    EXPECT_EQ(train.features(), (Shape{3, 4, 2}));
    EXPECT_EQ(train.numbers(), 5 * 3 * 2 + 2 * 4 * 3 + 3 * 2);
    Matrix<double> rows(5, 24);
    train.expand(rows.view());
    const auto expected = naive_full(train.train());
    for (Index i = 0; i < rows.size(); ++i) {
        EXPECT_NEAR(rows.data()[i], static_cast<double>(expected[static_cast<std::size_t>(i)]), 1e-13);
    }
    const FeatureBlock dense(Matrix<double>::copy(rows.view()), {3, 4, 2});
    EXPECT_TRUE(dense.is_dense());
    EXPECT_EQ(dense.rows(), 5);
    EXPECT_EQ(dense.numbers(), 120);
    Matrix<double> again(5, 24);
    dense.expand(again.view());
    EXPECT_TRUE(same_bits<double>(rows.view(), again.view()));
    dense.clone().expand(again.view());
    EXPECT_TRUE(same_bits<double>(rows.view(), again.view()));
    EXPECT_TRUE(same_bits(train.clone().train(), train.train()));
}

TEST(FeatureBlockTest, BothFormsHaveTheSameNorm) {
    const auto x = random_tensor<double>({9, 4, 5}, 3);
    const auto upload = compress_client(x.view(), {0, 0, 9});
    const FeatureBlock& block = upload.block.get();
    Matrix<double> rows(block.rows(), block.features().size());
    block.expand(rows.view());
    const double norm2 = squared_norm<double>(rows.view());
    EXPECT_NEAR(block.squared_norm(), norm2, 1e-12 * norm2);
    EXPECT_NEAR(FeatureBlock(std::move(rows), {4, 5}).squared_norm(), norm2, 1e-12 * norm2);
}

TEST(FeatureBlockTest, RefusesRowsThatDoNotFit) {
    EXPECT_THROW(FeatureBlock(Matrix<double>(2, 5), Shape{2, 3}), InputError);
    EXPECT_THROW(FeatureBlock(Matrix<double>(0, 6), Shape{2, 3}), InputError);
}

TEST(FeaturesTest, CloneIsDeep) {
    const Features features{random_train<double>({3, 2}, {2, 2, 1}), {2.0, 1.0}, true};
    const Features copy = features.clone();
    EXPECT_TRUE(same_bits(copy.train, features.train));
    EXPECT_NE(copy.train.core(0).data(), features.train.core(0).data());
    EXPECT_EQ(copy.sigma, features.sigma);
}

}  // namespace
}  // namespace couplet
