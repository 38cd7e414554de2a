#include "couplet/ctt/arrived_cores.hpp"

#include "couplet/ctt/client.hpp"
#include "couplet/linalg/products.hpp"
#include "federations.hpp"

namespace couplet {
namespace {

using namespace support;

TEST(ArrivedCoresTest, HonestCoresKeepTheirBits) {
    const auto train = block_train(
        compress_client(population_client({9, 5, 4, 3}, 2, 0.7, 1e-4, 1, 1).view(), {0.1, 0.1, 2}).block.get());
    const auto same = left_orthonormal(train.clone().release());
    EXPECT_TRUE(same_bits(same, train));
    EXPECT_EQ(same.orthogonality(0), Orthogonality::left);
    EXPECT_EQ(same.orthogonality(same.order() - 1), Orthogonality::none);
}

TEST(ArrivedCoresTest, OthersBecomeLeftOrthonormalAndMeanTheSame) {
    const auto train = random_train<double>({5, 4, 3}, {3, 4, 2, 1}, 2);
    const auto made = left_orthonormal(train.clone().release());
    for (Index n = 0; n + 1 < made.order(); ++n) {
        EXPECT_TRUE(is_identity(gram<double>(made.left_unfolding(n), Side::right)));
    }
    Matrix<double> before(3, 60);
    Matrix<double> after(3, 60);
    FeatureBlock(train.clone()).expand(before.view());
    FeatureBlock(made.clone()).expand(after.view());
    for (Index i = 0; i < before.size(); ++i) EXPECT_NEAR(before.data()[i], after.data()[i], 1e-12);
}

TEST(ArrivedCoresTest, AnIdentityIsRecognised) {
    auto g = Matrix<double>::identity(3);
    EXPECT_TRUE(is_identity(g));
    g(0, 2) = 1e-6;
    EXPECT_FALSE(is_identity(g));
    for (const double small : {0.9e-9, -0.9e-9}) {
        g(0, 2) = small;
        EXPECT_TRUE(is_identity(g)) << small;
        g(0, 2) = 0;
        g(1, 1) = 1 + small;
        EXPECT_TRUE(is_identity(g)) << small;
        g(1, 1) = 1;
    }
    for (const double large : {1.1e-9, -1.1e-9, -2.0}) {
        g(0, 2) = large;
        EXPECT_FALSE(is_identity(g)) << large;
        g(0, 2) = 0;
        g(2, 2) = 1 + large;
        EXPECT_FALSE(is_identity(g)) << large;
        g(2, 2) = 1;
    }
    g(0, 2) = std::nan("");
    EXPECT_FALSE(is_identity(g));
}

}  // namespace
}  // namespace couplet
