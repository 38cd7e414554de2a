#include "range_coder.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <utility>

#include "couplet/core/error.hpp"
#include "couplet/core/random.hpp"

namespace couplet {
namespace {

struct Decision {
    bool bit;
    std::uint32_t p;
};

std::vector<std::byte> encoded(const std::vector<Decision>& decisions) {
    RangeEncoder encoder;
    for (const auto& decision : decisions) EXPECT_EQ(encoder.code(decision.bit, decision.p), decision.bit);
    return std::move(encoder).finish();
}

/// Bits drawn with the probabilities they are coded with.
std::vector<Decision> drawn(std::size_t count, std::uint64_t seed) {
    Random random(seed);
    std::vector<Decision> decisions;
    for (std::size_t i = 0; i < count; ++i) {
        const auto p = static_cast<std::uint32_t>(1 + random.below(65535));
        decisions.push_back({random.below(65536) < p, p});
    }
    return decisions;
}

TEST(RangeCoder, GivesBackEveryDecision) {
    for (const std::size_t count : {0, 1, 2, 7, 1000, 100000}) {
        const auto decisions = drawn(count, count);
        const auto bytes = encoded(decisions);
        RangeDecoder decoder(bytes);
        for (const auto& decision : decisions) ASSERT_EQ(decoder.code(false, decision.p), decision.bit);
        EXPECT_NO_THROW(decoder.finish());
    }
}

TEST(RangeCoder, GivesBackPlainBitsBetweenDecisions) {
    Random random(11);
    std::vector<std::pair<std::uint32_t, int>> plain;
    for (int i = 0; i < 3000; ++i) {
        const int count = 1 + static_cast<int>(random.below(most_plain_bits));
        plain.emplace_back(static_cast<std::uint32_t>(random.below(std::uint64_t{1} << count)), count);
    }
    const auto decisions = drawn(plain.size(), 12);
    RangeEncoder encoder;
    std::size_t bits = 0;
    for (std::size_t i = 0; i < plain.size(); ++i) {
        encoder.code(decisions[i].bit, decisions[i].p);
        EXPECT_EQ(encoder.code_plain(plain[i].first, plain[i].second), plain[i].first);
        bits += static_cast<std::size_t>(plain[i].second);
    }
    const auto bytes = std::move(encoder).finish();
    EXPECT_LT(bytes.size(), (bits + plain.size()) / 8);
    RangeDecoder decoder(bytes);
    for (std::size_t i = 0; i < plain.size(); ++i) {
        ASSERT_EQ(decoder.code(false, decisions[i].p), decisions[i].bit);
        ASSERT_EQ(decoder.code_plain(0, plain[i].second), plain[i].first);
    }
    EXPECT_NO_THROW(decoder.finish());
}

TEST(RangeCoder, TakesTheBitsOfTheProbabilities) {
    const auto decisions = drawn(100000, 3);
    double bits = 0;
    for (const auto& [bit, p] : decisions) bits -= std::log2((bit ? p : 65536 - p) / 65536.0);
    const auto bytes = static_cast<double>(encoded(decisions).size());
    EXPECT_LT(bytes, 1.001 * bits / 8 + 6);
    EXPECT_GE(bytes, bits / 8);
}

TEST(RangeCoder, CarriesThroughALongRunOfOnes) {
    // Unlikely zeros push the lower bound up to just below a power of two; then a carry runs through all of it.
    for (const bool last : {false, true}) {
        std::vector<Decision> decisions(4000, {false, 1});
        decisions.push_back({last, 65535});
        decisions.push_back({false, 1 << 15});
        const auto bytes = encoded(decisions);
        RangeDecoder decoder(bytes);
        for (const auto& decision : decisions) ASSERT_EQ(decoder.code(true, decision.p), decision.bit);
        EXPECT_NO_THROW(decoder.finish());
    }
}

TEST(RangeCoder, RefusesMissingBytes) {
    const auto decisions = drawn(1000, 5);
    const auto bytes = encoded(decisions);
    for (std::size_t size = 0; size < bytes.size(); ++size) {
        const auto decode = [&] {
            RangeDecoder decoder({bytes.data(), size});
            for (const auto& decision : decisions) decoder.code(false, decision.p);
            decoder.finish();
        };
        ASSERT_THROW(decode(), InputError) << size;
    }
}

TEST(RangeCoder, RefusesBytesThatNoEncoderWrites) {
    const auto decisions = drawn(10, 6);
    auto bytes = encoded(decisions);
    const auto decode = [&] {
        RangeDecoder decoder(bytes);
        for (const auto& decision : decisions) decoder.code(false, decision.p);
        decoder.finish();
    };
    const auto said = [&]() -> std::string {
        try {
            decode();
            return "";
        } catch (const InputError& error) {
            return error.parts().found;
        }
    };
    EXPECT_EQ(said(), "");
    const std::size_t size = bytes.size();
    bytes.insert(bytes.end(), 4, std::byte{0});
    EXPECT_EQ(said(), std::to_string(size + 4) + " bytes");
    bytes.resize(size + 3);
    EXPECT_EQ(said(), "the end of the bytes");
    bytes.resize(size);
    bytes.back() ^= std::byte{1};
    EXPECT_EQ(said(), "bytes that no encoder writes");
}

}  // namespace
}  // namespace couplet
