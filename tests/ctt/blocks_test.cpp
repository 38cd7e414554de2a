#include "couplet/ctt/blocks.hpp"

#include "couplet/core/error.hpp"
#include "couplet/ctt/client.hpp"
#include "couplet/linalg/products.hpp"
#include "federations.hpp"

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
    const std::string expected = "; expected at least one row of 6 numbers";
    EXPECT_EQ(message_of([] { FeatureBlock(Matrix<double>(2, 5), Shape{2, 3}); }), "feature block: 2x5" + expected);
    EXPECT_EQ(message_of([] { FeatureBlock(Matrix<double>(0, 6), Shape{2, 3}); }), "feature block: 0x6" + expected);
}

TEST(FeatureBlockTest, TheSmallerFormIsChosenAndATieStaysATrain) {
    // rank 2 over {3, 4}: 2 x 3 x r + r x 4 numbers against 2 x 12.
    const auto numbers = [](Index r) { return 2 * 3 * r + r * 4; };
    for (const Index r : {1, 2, 3}) {
        const auto train = random_train<double>({3, 4}, {2, r, 1});
        const auto block = smaller_form(train.clone());
        EXPECT_EQ(block.is_dense(), numbers(r) > 24) << r;
        EXPECT_EQ(block.numbers(), std::min<Index>(numbers(r), 24));
        Matrix<double> rows(2, 12);
        block.expand(rows.view());
        EXPECT_LT(naive_distance(rows.view(), rows_of(train).view()), 1e-13);
    }
    // {4}: 3 x 4 numbers either way.
    EXPECT_FALSE(smaller_form(random_train<double>({4}, {3, 1})).is_dense());
}

TEST(FeatureBlockTest, ExpandsIntoAPartOfAWiderMatrix) {
    const FeatureBlock dense(random_matrix<double>(2, 6, 3), {2, 3});
    auto target = Matrix<double>::zeros(5, 6);
    dense.expand(target.view().rows_from(2, 2));
    EXPECT_TRUE(same_bits<double>(target.view().rows_from(2, 2), dense.dense().view()));
    EXPECT_EQ(naive_norm(target.view().rows_from(0, 2)), 0);
    EXPECT_EQ(target(4, 0), 0);
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
