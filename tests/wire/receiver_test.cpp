#include "couplet/wire/receiver.hpp"

#include <cstring>
#include <limits>

#include "wire_test_support.hpp"

namespace couplet::wire {
namespace {

/// Features of three chunks.
Parts three_chunks() {
    FeaturesMessage message{orthonormal_features(random_train<double>({180, 30, 4}, {6, 20, 4, 1}, 5)), std::nullopt};
    Parts parts = encode({{}, std::move(message)}, least_chunk_bytes);
    EXPECT_EQ(parts.chunks.size(), 3U);
    return parts;
}

std::string refused(const Parts& parts, Limits limits = {}) {
    return refusal([&] { receive(parts, limits); });
}

TEST(ReceiverTest, TakesWhatTheEncoderGives) {
    EXPECT_EQ(refused(three_chunks()), "");
    Receiver receiver("client a");
    const Parts parts = three_chunks();
    const Head& head = receiver.head(parts.head);
    EXPECT_EQ(head.kind, Kind::features);
    EXPECT_EQ(head.modes, (Shape{180, 30, 4}));
    EXPECT_EQ(head.payload_bytes, static_cast<Index>(parts.payload().size()));
    receiver.chunk(parts.chunks[0]);
    EXPECT_EQ(receiver.received_bytes(), least_chunk_bytes);
    EXPECT_FALSE(receiver.complete());
}

TEST(ReceiverTest, LongHeadsAreForThoseWhoExpectThem) {
    Bye bye;
    for (int i = 0; i < 10'000; ++i) bye.members.push_back(std::string(40, 'x') + std::to_string(i));
    const Parts parts = encode({{}, std::move(bye)}, least_chunk_bytes);
    EXPECT_NE(refused(parts, {.max_payload_bytes = 0, .max_head_bytes = 65536}).find("at most 65536"),
              std::string::npos);
    EXPECT_EQ(refused(parts, {.max_payload_bytes = 0, .max_head_bytes = most_chunk_bytes}), "");
}

TEST(ReceiverTest, RefusesMoreThanTheLimitBeforeAnyNumber) {
    const Parts parts = three_chunks();
    Receiver receiver("client a", {.max_payload_bytes = least_chunk_bytes});
    const std::string reason = refusal([&] { receiver.head(parts.head); });
    EXPECT_NE(reason.find("at most 65536"), std::string::npos) << reason;
}

TEST(ReceiverTest, RefusesPartsOutOfOrder) {
    const Parts parts = three_chunks();
    Receiver none("client a");
    EXPECT_NE(refusal([&] { none.chunk(parts.chunks[0]); }).find("head"), std::string::npos);
    EXPECT_NE(refusal([&] { none.tail(parts.tail); }), "");
    Receiver twice("client a");
    twice.head(parts.head);
    EXPECT_NE(refusal([&] { twice.head(parts.head); }).find("second head"), std::string::npos);
    Receiver early("client a");
    early.head(parts.head);
    early.chunk(parts.chunks[0]);
    EXPECT_NE(refusal([&] { early.tail(parts.tail); }).find("an end after 65536 bytes"), std::string::npos);
}

TEST(ReceiverTest, RefusesChunksOfAnotherSizeSoThatTheirNumberIsBounded) {
    Parts parts = three_chunks();
    parts.chunks[0].resize(8);
    EXPECT_NE(refused(parts).find("a chunk of 8 bytes"), std::string::npos);
    parts = three_chunks();
    parts.chunks.back().resize(parts.chunks.back().size() + 8);
    EXPECT_NE(refused(parts), "");
    parts = three_chunks();
    parts.chunks.emplace_back(8);
    EXPECT_NE(refused(parts).find("0 as promised"), std::string::npos);
    parts = three_chunks();
    parts.chunks.emplace_back();
    EXPECT_NE(refused(parts), "") << "an empty chunk could be repeated for ever";
}

TEST(ReceiverTest, RefusesAChangedByte) {
    Parts parts = three_chunks();
    parts.chunks[1][8] ^= std::byte{1};
    EXPECT_NE(refused(parts).find("hash"), std::string::npos);
    parts = three_chunks();
    parts.tail[0] ^= std::byte{1};
    EXPECT_NE(refused(parts).find("hash"), std::string::npos);
    Receiver receiver("client a");
    const Parts join = encode({{}, Join{}});
    receiver.head(join.head);
    EXPECT_NE(refusal([&] { receiver.tail({}); }).find("hash"), std::string::npos);
}

TEST(ReceiverTest, NamesTheNumberThatIsNone) {
    for (const double bad : {std::numeric_limits<double>::quiet_NaN(), -std::numeric_limits<double>::infinity()}) {
        Parts parts = three_chunks();
        std::memcpy(parts.chunks[1].data() + 80, &bad, 8);
        const std::string reason = refused(parts);
        // 65536 / 8 numbers in the first chunk, ten before it in the second.
        EXPECT_NE(reason.find("NaN or infinity at number 8203 of its features"), std::string::npos) << reason;
        EXPECT_EQ(reason.find("client a"), 0U);
    }
    Parts parts = three_chunks();
    const double largest = std::numeric_limits<double>::max();
    std::memcpy(parts.chunks[1].data(), &largest, 8);
    EXPECT_NE(refused(parts).find("hash"), std::string::npos) << "large is finite";
}

TEST(ReceiverTest, IntegersOfARingAreNumbersWhateverTheyAre) {
    const std::vector<std::uint8_t> ones(64, 0xff);  // read as doubles they would be NaN
    EXPECT_EQ(refused(encode({{}, SecureReply{1, 0, MaskedNumbers{ones, {}}}})), "");
    AskNumbers opened{{}, {0, 1}, {}, {}, false, {{0, 4, ones}}};
    EXPECT_EQ(refused(encode({{}, SecureRequest{1, 0, std::move(opened)}})), "");
    AskNumbers basis{{}, {0, 1}, {}, Matrix<double>::identity(2), false, {}};
    basis.basis(1, 1) = std::numeric_limits<double>::quiet_NaN();
    EXPECT_NE(refused(encode({{}, SecureRequest{2, 0, std::move(basis)}})).find("NaN or infinity"), std::string::npos);
}

TEST(ReceiverTest, RefusesAHugeHead) {
    Receiver receiver("client a");
    EXPECT_NE(refusal([&] { receiver.head(std::string(2'000'000, 'x')); }).find("a head of 2000000"),
              std::string::npos);
}

}  // namespace
}  // namespace couplet::wire
