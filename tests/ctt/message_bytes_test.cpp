#include "couplet/ctt/message_bytes.hpp"

#include "couplet/ctt/block_code.hpp"
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

TEST(MessageBytesTest, CodedBlocksCountTheirBytes) {
    const auto x = population_client({20, 9, 8}, 4, 0.6, 0.01, 1, 1);
    const auto exact = compress_client(x.view(), {0.01, 0.01, 20});
    const auto coded = compress_client(x.view(), {0.01, 0.01, 20, {}, Precision::automatic, 0.015});
    ASSERT_TRUE(coded.block->code());
    const auto size = static_cast<Index>(coded.block->code()->bytes.size());
    EXPECT_GT(serialised_bytes(coded), size);
    EXPECT_LT(serialised_bytes(coded), size + 300);
    EXPECT_LT(5 * size, 8 * exact.block->numbers());
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

/// By the fields of federation.proto: a tag of one byte, a varint of the length, the bytes.
TEST(MessageBytesTest, EveryByteIsCounted) {
    // Body 14, framed 16; with the route's 47 bytes a head of 63, framed 65; a hash of 32, framed 34.
    EXPECT_EQ(serialised_bytes(0.0), 65 + 34);
    EXPECT_EQ(serialised_bytes(15.0), 99 + 1 + 1 + 120);
    EXPECT_EQ(serialised_bytes(16.0), 99 + 1 + 2 + 128);
    const Index chunk = default_chunk_bytes / 8;
    EXPECT_EQ(serialised_bytes(static_cast<double>(chunk)), 99 + 1 + 3 + default_chunk_bytes);
    EXPECT_EQ(serialised_bytes(static_cast<double>(chunk + 1)), 99 + 1 + 3 + default_chunk_bytes + 1 + 1 + 8);
    const auto x = random_tensor<double>({6, 5, 4}, 1);
    EXPECT_EQ(serialised_bytes(SumReply{2, sketch_sum(x.view(), random_matrix<double>(20, 2).view())}),
              serialised_bytes(40.0));
    // Two feature modes, packed 18; five numbers of 9 bytes; a train's three ranks, packed 26.
    const auto dense = compress_client(random_tensor<double>({6, 5, 4}, 1).view(), {0, 0, 6});
    ASSERT_TRUE(dense.block->is_dense());
    EXPECT_EQ(serialised_bytes(dense), (1 + 1 + 47 + 1 + 1 + 18 + 45) + (1 + 2 + 8 * 120) + 34);
    const auto low = random_train<double>({30, 5, 4}, {1, 2, 2, 1}, 3).full();
    const auto train = compress_client(low.view(), {1e-9, 1e-9, 30});
    ASSERT_FALSE(train.block->is_dense());
    ASSERT_EQ(train.block->numbers(), 2 * 5 * 2 + 2 * 4);
    EXPECT_EQ(serialised_bytes(train), (1 + 2 + 47 + 1 + 1 + 18 + 26 + 45) + (1 + 2 + 8 * 28) + 34);
    // Modes 18, ranks 26, payload 9, orthonormal 2, bound 9.
    const FeaturesMessage message{{random_train<double>({5, 4}, {3, 2, 1}, 2), {3, 2, 1}, true}, 0.5};
    EXPECT_EQ(serialised_bytes(message), (1 + 1 + 47 + 1 + 1 + 64) + (1 + 2 + 8 * (30 + 8 + 3)) + 34);
    EXPECT_EQ(serialised_bytes(SumRequest{0, SubspaceIteration::Want::gram, Matrix<double>(0, 0)}),
              (1 + 1 + 47 + 1 + 1 + 28) + 34);
}

}  // namespace
}  // namespace couplet
