#include "couplet/ctt/message_bytes.hpp"

#include "federations.hpp"

namespace couplet {
namespace {

using namespace support;

// tests/wire compares these with what is really serialised; here: how they grow.
TEST(MessageBytesTest, EightPerNumberAndAFewPerChunk) {
    const double small = serialised_bytes(0.0);
    EXPECT_GT(small, 64);
    EXPECT_LT(small, 256);
    EXPECT_EQ(serialised_bytes(10.0) - small, 80 + 2);
    const double chunk = static_cast<double>(default_chunk_bytes) / 8;
    EXPECT_EQ(serialised_bytes(2 * chunk) - serialised_bytes(chunk), 8 * chunk + 4);
}

TEST(MessageBytesTest, TheFirstBasisDoesNotTravel) {
    SumRequest first{0, SubspaceIteration::Want::sketch, Matrix<double>::zeros(30, 4)};
    SumRequest second{1, SubspaceIteration::Want::sketch, Matrix<double>::zeros(30, 4)};
    EXPECT_EQ(serialised_bytes(second) - serialised_bytes(first), 30 * 4 * 8 + 3);
}

TEST(MessageBytesTest, UploadsAndFeaturesCountTheirNumbers) {
    const auto x = random_tensor<double>({6, 5, 4}, 1);
    const auto upload = compress_client(x.view(), {0.1, 0.1, 3});
    EXPECT_GT(serialised_bytes(upload), 8 * upload.block->numbers());
    const FeaturesMessage message{orthonormal_features(random_train<double>({5, 4}, {3, 2, 1}, 2)), 0.5};
    const Index bytes = serialised_bytes(message);
    EXPECT_GT(bytes, 8 * (message.features.train.parameters() + 3));
    const FeaturesMessage unbounded{message.features.clone(), std::nullopt};
    EXPECT_EQ(bytes - serialised_bytes(unbounded), 9);
}

}  // namespace
}  // namespace couplet
