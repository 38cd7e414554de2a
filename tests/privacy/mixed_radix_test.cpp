#include "mixed_radix.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "couplet/core/error.hpp"
#include "couplet/core/random.hpp"

namespace couplet {
namespace {

TEST(MixedRadix, PacksWhatItUnpacksInNextToNoMoreThanTheLogarithm) {
    Random random(2);
    for (const std::uint64_t modulus :
         {2ULL, 3ULL, 5ULL, 1000ULL, 2500ULL, 65'537ULL, 4'294'967'311ULL, (1ULL << 63) - 25}) {
        const MixedRadix radix(modulus);
        for (const std::size_t count : {std::size_t{0}, std::size_t{1}, std::size_t{7}, std::size_t{2000}}) {
            std::vector<std::uint64_t> digits(count);
            for (auto& digit : digits) digit = random.next() % modulus;
            if (count > 0) digits.back() = modulus - 1;
            const auto bytes = radix.pack(digits);
            EXPECT_EQ(bytes.size(), radix.bytes(count));
            EXPECT_EQ(radix.unpack(bytes, count), digits);
            const double least = static_cast<double>(count) * std::log2(static_cast<double>(modulus)) / 8;
            EXPECT_GE(static_cast<double>(bytes.size()), least - 1e-6);
            EXPECT_LE(static_cast<double>(bytes.size()), least * 1.13 + 1) << modulus;  // at 63 bits, 8 in 64 bytes
            if (modulus < 100'000) EXPECT_LE(static_cast<double>(bytes.size()), least * 1.032 + 1) << modulus;
        }
    }
}

TEST(MixedRadix, RefusesBytesThatNoDigitsMake) {
    const MixedRadix radix(1000);
    const std::vector<std::uint8_t> high(radix.bytes(3), 0xff);
    EXPECT_THROW(radix.unpack(high, 3), InputError);
    const std::vector<std::uint8_t> group(radix.bytes(200), 0xff);
    EXPECT_THROW(radix.unpack(group, 200), InputError);
}

}  // namespace
}  // namespace couplet
