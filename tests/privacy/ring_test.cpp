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
            for (auto& value : values) value = random.next() & ring.mask();
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

TEST(AddMask, IsTakenBackByTheSameKeyAndNoOther) {
    for (const int bits : {20, 32, 54, 64}) {
        const Ring ring(bits);
        const auto key = Secret::random();
        std::vector<std::uint64_t> values(10'001);
        for (std::size_t i = 0; i < values.size(); ++i) values[i] = i & ring.mask();
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
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = (x[i] + y[i]) & how.ring.mask();
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
