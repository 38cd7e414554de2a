#include "couplet/wire/encoder.hpp"

#include "wire_test_support.hpp"

namespace couplet::wire {
namespace {

/// Three cores of sizes that no chunk divides.
FeaturesMessage large_features() {
    return {orthonormal_features(random_train<double>({331, 97, 40}, {50, 40, 30, 1}, 5)), std::nullopt};
}

TEST(EncoderTest, ChunksAreFullExceptTheLast) {
    const Message message{{}, large_features()};
    const Parts whole = encode(message, most_chunk_bytes);
    for (const Index size : {least_chunk_bytes, default_chunk_bytes, most_chunk_bytes, least_chunk_bytes + 8}) {
        const Parts parts = encode(message, size);
        ASSERT_GT(parts.chunks.size(), 1U);
        for (std::size_t i = 0; i + 1 < parts.chunks.size(); ++i) {
            EXPECT_EQ(static_cast<Index>(parts.chunks[i].size()), size);
        }
        EXPECT_FALSE(parts.chunks.back().empty());
        EXPECT_EQ(parts.payload(), whole.payload());
        EXPECT_EQ(Encoder(message, size).payload_bytes(), static_cast<Index>(parts.payload().size()));
    }
}

/// Only a chunk that spans two arrays is copied: messages can be as large as the data.
TEST(EncoderTest, NumbersAreNotCopied) {
    const Message message{{}, large_features()};
    const auto& train = std::get<FeaturesMessage>(message.body).features.train;
    std::vector<std::span<const std::byte>> cores;
    std::size_t boundaries = 0;
    Index end = 0;
    for (Index n = 0; n < train.order(); ++n) {
        cores.push_back(std::as_bytes(std::span(train.core(n).data(), static_cast<std::size_t>(train.core(n).size()))));
        end += static_cast<Index>(cores.back().size());
        if (n + 1 < train.order() && end % least_chunk_bytes != 0) ++boundaries;
    }
    const auto within = [](std::span<const std::byte> part, std::span<const std::byte> whole) {
        return part.data() >= whole.data() && part.data() + part.size() <= whole.data() + whole.size();
    };
    Encoder encoder(message, least_chunk_bytes);
    std::size_t copied = 0;
    for (auto chunk = encoder.next_chunk(); !chunk.empty(); chunk = encoder.next_chunk()) {
        if (std::none_of(cores.begin(), cores.end(), [&](const auto& core) { return within(chunk, core); })) ++copied;
    }
    EXPECT_EQ(copied, boundaries);
    EXPECT_EQ(boundaries, 2U);
    const Message small{{}, SumReply{0, sketch_sum(random_tensor<double>({3, 4}).view(), {})}};
    EXPECT_EQ(static_cast<const void*>(Encoder(small).next_chunk().data()),
              static_cast<const void*>(std::get<SumReply>(small.body).sum->data()));
}

TEST(EncoderTest, AMessageWithoutNumbersHasNoChunks) {
    const Parts parts = encode({{}, Join{"a", "1"}});
    EXPECT_TRUE(parts.chunks.empty());
    EXPECT_FALSE(parts.head.empty());
}

TEST(EncoderTest, RefusesChunksOutsideTheLimits) {
    const Message message{{}, Join{}};
    for (const Index size : {Index{0}, least_chunk_bytes - 8, most_chunk_bytes + 8, least_chunk_bytes + 4}) {
        EXPECT_NE(refusal([&] { Encoder(message, size); }).find("multiple of 8"), std::string::npos) << size;
    }
}

// A simulation counts bytes by the formulas of ctt.
TEST(EncoderTest, SizesAreThoseThatSimulationsCount) {
    const auto expect_size = [](auto body) {
        const Index formula = serialised_bytes(body);
        EXPECT_EQ(encoded_bytes({{}, std::move(body)}), formula);
    };
    expect_size(some_upload());
    expect_size(compress_client(random_tensor<double>({3, 40}, 1).view(), {0, 0, 3}));
    expect_size(compress_client(random_tensor<double>({30, 2000, 2}, 1).view(), {0, 0, 30}));
    for (const bool dense : {true, false}) {
        expect_size(coded_upload(dense));
        expect_size(coded_features(dense));
    }
    expect_size(compress_client(random_tensor<double>({30, 200, 2}, 1).view(), {0.1, 0, 30, {}, Precision::f32}));
    expect_size(some_features());
    expect_size(large_features());
    FeaturesMessage filling = some_features();
    filling.filling = Filling{0.2, 1.5};
    expect_size(std::move(filling));
    const auto x = random_tensor<double>({8, 300}, 4);
    expect_size(SumReply{2, sketch_sum(x.view(), {})});
    for (const Index pass : {0, 1}) {
        expect_size(SumRequest{pass, SubspaceIteration::Want::sketch, random_matrix<double>(300, 12, 1)});
    }
    const auto expect_peer_size = [](PeerBody body) {
        const Index formula = serialised_bytes(body);
        const PeerMessage message{1, 2, 0, std::make_shared<const PeerBody>(std::move(body))};
        EXPECT_EQ(encoded_bytes(to_message({}, message)), formula);
    };
    expect_peer_size(sketch_sum(x.view(), {}));
    expect_peer_size(random_matrix<double>(30, 4, 1));
    expect_peer_size(some_features());
    expect_peer_size(coded_features(false));
    const auto merge_of = [](const Upload& upload) { return MergeState{upload.block->clone(), {1, 2, 3, 0, 0, 0}}; };
    expect_peer_size(merge_of(some_upload()));
    expect_peer_size(merge_of(coded_upload(true)));
    expect_peer_size(merge_of(coded_upload(false)));
    for (const CentringOptions& how : {CentringOptions{true, false}, {false, true}, {true, true}}) {
        const auto y = random_tensor<double>({7, 5}, 3);
        const Centring told = centring_of(feature_sums(y.view(), how), how);
        const CentringTraffic each = centring_traffic(5, how);
        const auto sum = release_sums(feature_sums(y.view(), how));
        EXPECT_EQ(each.numbers_up, static_cast<double>(sum->size() + 1));
        EXPECT_EQ(each.numbers_down, static_cast<double>(told.mean.size() + told.scale.size()));
        const Index up = encoded_bytes({{}, SumReply{0, sum}}) + encoded_bytes({{}, SumReply{1, release_norm2(2.5)}});
        const Index down = encoded_bytes({{}, CentringRequest{}}) + encoded_bytes({{}, CentringRequest{told}});
        EXPECT_EQ(each.bytes_up, static_cast<double>(up));
        EXPECT_EQ(each.bytes_down, static_cast<double>(down));
    }
    for (const double numbers : {1.0, 15.0, 16.0, 32768.0, 32769.0, 100000.0}) {
        const auto count = static_cast<Index>(numbers);
        const auto q = random_matrix<double>(1, count, 1);
        const auto wide = sketch_sum(random_tensor<double>({2, 1}, 1).view(), q.view());
        EXPECT_EQ(static_cast<double>(encoded_bytes({{}, SumReply{1, wide}})), serialised_bytes(numbers));
    }
}

}  // namespace
}  // namespace couplet::wire
