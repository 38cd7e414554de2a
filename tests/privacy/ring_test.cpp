#include "couplet/privacy/ring.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "couplet/core/error.hpp"
#include "couplet/core/random.hpp"

namespace couplet {
namespace {

TEST(Ring, PacksToTheBit) {
    Random random(1);
    for (const int bits : {1, 7, 8, 13, 31, 32, 33, 54, 63, 64}) {
        const Ring ring(bits);
        for (const std::size_t count : {std::size_t{0}, std::size_t{1}, std::size_t{97}}) {
            std::vector<std::uint64_t> values(count);
            for (auto& value : values) value = ring.reduced(random.next());
            const auto bytes = ring.pack(values);
            EXPECT_EQ(bytes.size(), (count * static_cast<std::size_t>(bits) + 7) / 8);
            EXPECT_EQ(ring.unpack(bytes, count), values);
            EXPECT_THROW(ring.unpack(bytes, count + 8), InputError);
        }
    }
    EXPECT_THROW(Ring(0), InputError);
    EXPECT_THROW(Ring(65), InputError);
}

TEST(Ring, CentresItsNumbers) {
    const Ring ring(5);
    EXPECT_EQ(ring.centred(3), 3);
    EXPECT_EQ(ring.centred(15), 15);
    EXPECT_EQ(ring.centred(16), -16);
    EXPECT_EQ(ring.centred(31), -1);
    EXPECT_EQ(Ring(64).centred(~std::uint64_t{0}), -1);
}

TEST(Ring, CountsModuloAnyNumber) {
    for (const std::uint64_t modulus : {2ULL, 3ULL, 10ULL, 4096ULL, 5'000'000'029ULL, 1ULL << 63}) {
        const Ring ring = Ring::modulo(modulus);
        EXPECT_EQ(ring.largest(), modulus - 1);
        for (const std::int64_t a : {0, 1, -1, 7, -123'456'789}) {
            for (const std::int64_t b : {0, 1, -5, 99}) {
                EXPECT_EQ(ring.sum(ring.of(a), ring.of(b)), ring.of(a + b)) << modulus;
                EXPECT_EQ(ring.difference(ring.of(a), ring.of(b)), ring.of(a - b)) << modulus;
            }
            EXPECT_EQ(ring.of(ring.centred(ring.of(a))), ring.of(a));
            EXPECT_LE(std::abs(static_cast<double>(ring.centred(ring.of(a)))), static_cast<double>(modulus) / 2);
        }
    }
    EXPECT_EQ(Ring::modulo(4096), Ring(12));
    EXPECT_EQ(Ring::modulo(10).centred(6), -4);
    EXPECT_EQ(Ring::modulo(10).bits(), 4);
    EXPECT_THROW(Ring::modulo(1), InputError);
    EXPECT_THROW(Ring::modulo((1ULL << 63) + 1), InputError);
    const Ring odd = Ring::modulo(2500);
    EXPECT_THROW(odd.unpack(std::vector<std::uint8_t>(odd.packed_bytes(1), 0xff), 1), InputError);
}

TEST(Stretches, ArePackedOneAfterTheOther) {
    const std::vector<Stretch> stretches{{3, Ring(5), 1}, {2, Ring::modulo(1000), 1}, {0, Ring(64), 1}};
    const std::vector<std::uint64_t> values{31, 0, 7, 999, 1};
    const auto bytes = pack(stretches, values);
    EXPECT_EQ(bytes.size(), packed_bytes(stretches));
    EXPECT_EQ(bytes.size(), 2U + 3U);
    EXPECT_EQ(unpack(stretches, bytes), values);
    EXPECT_THROW(unpack(stretches, std::span(bytes).first(4)), InputError);
}

/// Masks of a ring that is no power of two are as likely at each of its numbers: 2 degrees of freedom.
TEST(AddMask, IsUniformModuloThree) {
    std::vector<std::uint64_t> values(300'000, 0);
    add_mask(values, Secret::random(), Ring::modulo(3), Sign::plus);
    std::vector<double> counts(3, 0);
    for (const auto value : values) ++counts.at(value);
    double chi2 = 0;
    for (const double count : counts) chi2 += (count - 100'000) * (count - 100'000) / 100'000;
    EXPECT_LT(chi2, 30);
}

TEST(MaskStream, GoesOnWhereItWas) {
    const auto key = Secret::random();
    std::vector<std::uint64_t> whole(9000, 0);
    add_mask(whole, key, Ring(64), Sign::plus);
    std::vector<std::uint64_t> parts(9000, 0);
    MaskStream stream(key);
    stream.add(std::span(parts).first(4000), Ring(64), Sign::plus);
    stream.add(std::span(parts).subspan(4000), Ring(64), Sign::plus);
    EXPECT_EQ(parts, whole);
}

TEST(AddMask, IsTakenBackByTheSameKeyAndNoOther) {
    for (const Ring& ring : {Ring(20), Ring(32), Ring(54), Ring(64), Ring::modulo(3), Ring::modulo(5'000'000'029)}) {
        const auto key = Secret::random();
        std::vector<std::uint64_t> values(10'001);
        for (std::size_t i = 0; i < values.size(); ++i) values[i] = ring.reduced(i);
        const auto before = values;
        add_mask(values, key, ring, Sign::plus);
        EXPECT_NE(values, before);
        auto wrong = values;
        add_mask(wrong, Secret::random(), ring, Sign::minus);
        EXPECT_NE(wrong, before);
        add_mask(values, key, ring, Sign::minus);
        EXPECT_EQ(values, before);
    }
}

/// Chi-square of the bytes of masked zeros: 255 degrees of freedom, standard deviation 22.6.
TEST(AddMask, IsUniform) {
    for (const int bits : {32, 64}) {
        std::vector<std::uint64_t> values(200'000, 0);
        add_mask(values, Secret::random(), Ring(bits), Sign::plus);
        const auto bytes = Ring(bits).pack(values);
        std::vector<double> counts(256, 0);
        for (const auto byte : bytes) ++counts[byte];
        const double expected = static_cast<double>(bytes.size()) / 256;
        double chi2 = 0;
        for (const double count : counts) chi2 += (count - expected) * (count - expected) / expected;
        EXPECT_LT(chi2, 255 + 6 * 22.6);
        EXPECT_GT(chi2, 255 - 6 * 22.6);
        // And one part of the stream is not another.
        EXPECT_NE(values[0], values[4096]);
    }
}

TEST(FixedPoint, SumsRoundLikeDoubles) {
    const auto how = agree_fixed_point(1000, 3);
    EXPECT_EQ(how.ring.bits(), 54);
    const std::vector<double> a{999.25, -0.001, 1e-9};
    const std::vector<double> b{-999.5, 3.25, 2};
    auto x = encode_fixed(a, how, 1000);
    const auto y = encode_fixed(b, how, 1000);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = how.ring.sum(x[i], y[i]);
    const auto sum = decode_fixed(x, how);
    for (std::size_t i = 0; i < sum.size(); ++i) EXPECT_NEAR(sum[i], a[i] + b[i], 2 * how.step);
}

TEST(FixedPoint, RefusesInsteadOfClipping) {
    const auto how = agree_fixed_point(10, 3);
    EXPECT_EQ(decode_fixed(encode_fixed(std::vector<double>{10, -10}, how, 10), how), (std::vector<double>{10, -10}));
    for (const double value : {10.001, -11.0, std::nan(""), std::numeric_limits<double>::infinity()}) {
        try {
            encode_fixed(std::vector<double>{1, value}, how, 10);
            FAIL() << value;
        } catch (const InputError& error) {
            EXPECT_NE(std::string(error.what()).find("number 2 of a sum"), std::string::npos);
        }
    }
    EXPECT_THROW(agree_fixed_point(0, 3), InputError);
    EXPECT_THROW(agree_fixed_point(std::nan(""), 3), InputError);
    EXPECT_THROW(agree_fixed_point(1, 0), InputError);
    EXPECT_THROW(agree_fixed_point(1, 3, 61), InputError);
    constexpr std::int64_t most = std::int64_t{1} << 62;
    EXPECT_EQ(agree_fixed_point(1, most, 60).ring.bits(), 64) << "the whole word is of use";
    EXPECT_THROW(agree_fixed_point(1, std::numeric_limits<std::int64_t>::max(), 60), InputError);
}

}  // namespace
}  // namespace couplet
