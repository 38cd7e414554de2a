#include "couplet/coding/integers.hpp"

#include <gtest/gtest.h>

#include <array>

#include "coding_test_support.hpp"
#include "couplet/core/error.hpp"

namespace couplet {
namespace {

using support::Integers;

std::vector<std::int32_t> decoded(std::span<const std::byte> bytes, const Integers& like, Index inner) {
    Integers result = support::zeros(like.rows, like.cols);
    decode_integers(bytes, inner, result.view());
    return result.values;
}

void expect_round_trip(const Integers& block, Index inner) {
    const auto bytes = encode_integers(block.view(), inner);
    EXPECT_EQ(decoded(bytes, block, inner), block.values) << block.rows << "x" << block.cols << " inner " << inner;
}

TEST(Integers, ComeBackForEveryShape) {
    for (const Index rows : {0, 1, 2, 3, 7, 31}) {
        for (const Index cols : {0, 1, 2, 3, 5, 33, 101}) {
            for (const Index inner : {0, 1, 2, 5, 33, 1000}) {
                expect_round_trip(support::decaying_block(rows, cols, 20, 1), inner);
            }
        }
    }
}

TEST(Integers, ComeBackAtEveryMagnitude) {
    for (double largest = 0.1; largest < 1e9; largest *= 37) {
        expect_round_trip(support::decaying_block(5, 97, largest / 100, 2), 0);
    }
    Integers extremes = support::zeros(3, 50);
    extremes.values[7] = largest_integer;
    extremes.values[8] = -largest_integer;
    extremes.values[149] = 1;
    expect_round_trip(extremes, 10);
}

TEST(Integers, ZerosAreNearlyFree) {
    EXPECT_LT(encode_integers(support::zeros(100, 1000).view(), 0).size(), 60U);
    EXPECT_EQ(static_cast<Index>(encode_integers(support::zeros(0, 0).view(), 0).size()), least_stream_bytes);
}

TEST(Integers, TakeNoMoreBytesThanReceiversAccept) {
    Random random(23);
    for (const Index count : {1, 2, 3, 10, 1000}) {
        for (int trial = 0; trial < 50; ++trial) {
            // The worst for a coder that expects neighbours to be alike: nothing, and then all of it.
            Integers block = support::zeros(1, count);
            for (auto& value : block.values) {
                value = random.below(2) == 0 ? 0 : (random.below(2) == 0 ? largest_integer : -largest_integer);
            }
            block.values.front() = largest_integer;
            const auto bytes = static_cast<Index>(encode_integers(block.view(), 0).size());
            ASSERT_GE(bytes, least_stream_bytes);
            ASSERT_LE(bytes, 8 * count + most_extra_bytes);
        }
    }
}

TEST(Integers, OneHugeNumberCostsOnlyItself) {
    Integers block = support::zeros(50, 1000);
    const std::size_t before = encode_integers(block.view(), 0).size();
    block.values[25017] = largest_integer;
    EXPECT_LT(encode_integers(block.view(), 0).size(), before + 60);
}

TEST(Integers, BeatTheEntropyOfTheBlockAsAWhole) {
    for (const auto& [rows, cols] : {std::pair<Index, Index>{21, 1000}, {50, 1600}}) {
        const auto block = support::decaying_block(rows, cols, 10, 4);
        EXPECT_LT(static_cast<double>(encode_integers(block.view(), 0).size()), 0.9 * support::order0_bytes(block));
    }
}

TEST(Integers, AreTheSameBytesOnEveryMachine) {
    // FNV-1a of the stream: any change of the format or of its arithmetic shows here and needs a new protocol version.
    Random random(5);
    Integers block = support::zeros(13, 211);
    for (std::size_t i = 0; i < block.values.size(); ++i) {
        const auto size = static_cast<std::int32_t>(random.below(std::uint64_t{1} << random.below(12)));
        block.values[i] = i % 3 == 0 ? -size : size;
    }
    std::uint64_t hash = 0xcbf29ce484222325;
    for (const std::byte byte : encode_integers(block.view(), 20)) {
        hash = (hash ^ std::to_integer<std::uint64_t>(byte)) * 0x100000001b3;
    }
    EXPECT_EQ(hash, 8149613751566031352ULL);
}

TEST(Integers, RefuseWhatIsTooLarge) {
    Integers block = support::zeros(1, 3);
    for (const std::int32_t value : {largest_integer + 1, -largest_integer - 1, INT32_MIN, INT32_MAX}) {
        block.values[1] = value;
        EXPECT_THROW(encode_integers(block.view(), 0), InputError);
    }
    EXPECT_THROW(encode_integers(support::zeros(1, 1).view(), -1), InputError);
}

TEST(Integers, RefuseMissingAndExtraBytes) {
    const auto block = support::decaying_block(4, 40, 50, 6);
    auto bytes = encode_integers(block.view(), 0);
    for (std::size_t size = 0; size < bytes.size(); ++size) {
        ASSERT_THROW(decoded(std::span(bytes).first(size), block, 0), InputError) << size;
    }
    bytes.push_back(std::byte{0});
    EXPECT_THROW(decoded(bytes, block, 0), InputError);
}

TEST(Integers, SeveralMatricesShareAStream) {
    const auto a = support::decaying_block(5, 30, 40, 8);
    const auto b = support::decaying_block(3, 7, 2, 9);
    const auto bytes = encode_integers(std::array<IntegerMatrix<const std::int32_t>, 2>{{{a.view(), 6}, {b.view()}}});
    Integers c = support::zeros(5, 30);
    Integers d = support::zeros(3, 7);
    decode_integers(bytes, std::array<IntegerMatrix<std::int32_t>, 2>{{{c.view(), 6}, {d.view()}}});
    EXPECT_EQ(c.values, a.values);
    EXPECT_EQ(d.values, b.values);
    EXPECT_LE(bytes.size(), encode_integers(a.view(), 6).size() + encode_integers(b.view(), 0).size());
}

TEST(Integers, AreTheSameBytesWhereThereIsRoom) {
    const auto block = support::decaying_block(40, 300, 40, 10);
    const std::array<IntegerMatrix<const std::int32_t>, 1> matrices = {{{block.view(), 20}}};
    const auto bytes = encode_integers(matrices);
    const auto size = static_cast<Index>(bytes.size());
    EXPECT_EQ(encode_integers_within(matrices, 2 * size), bytes);
    EXPECT_EQ(encode_integers_within(matrices, size + size / 20), bytes);
    for (const Index room : {size - 1, size / 2, Index{1}, Index{0}, Index{-1}}) {
        EXPECT_FALSE(encode_integers_within(matrices, room)) << room;
    }
    const Integers nothing = support::zeros(0, 0);
    EXPECT_TRUE(encode_integers_within(std::array<IntegerMatrix<const std::int32_t>, 1>{{{nothing.view()}}}, 4));
}

TEST(Integers, WeighAboutTheirBits) {
    EXPECT_DOUBLE_EQ(integer_weight({}), 0);
    EXPECT_DOUBLE_EQ(integer_weight(std::vector<std::int32_t>{0, 0, 1, -4}), 0.4 + 2.5 + 4.5);
    const auto block = support::decaying_block(40, 300, 40, 11);
    const auto bits = 8 * static_cast<double>(encode_integers(block.view(), 0).size());
    EXPECT_NEAR(integer_weight(block.values), bits, 0.3 * bits);
}

TEST(Integers, AnyBytesGiveIntegersOrARefusal) {
    Random random(7);
    int accepted = 0;
    for (int trial = 0; trial < 3000; ++trial) {
        const Integers like = support::zeros(static_cast<Index>(random.below(4)), static_cast<Index>(random.below(6)));
        std::vector<std::byte> bytes(random.below(12));
        for (auto& byte : bytes) byte = std::byte(random.below(4) == 0 ? random.below(256) : 0);
        const auto inner = static_cast<Index>(random.below(4));
        try {
            Integers result = like;
            decode_integers(bytes, inner, result.view());
            // There is one stream for each block: what was accepted is what an encoder writes.
            EXPECT_EQ(encode_integers(result.view(), inner), bytes);
            ++accepted;
        } catch (const InputError&) {
        }
    }
    EXPECT_GT(accepted, 0);
}

}  // namespace
}  // namespace couplet
