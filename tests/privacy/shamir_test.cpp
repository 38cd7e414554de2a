#include "couplet/privacy/shamir.hpp"

#include <gtest/gtest.h>

#include "couplet/core/error.hpp"

namespace couplet {
namespace {

std::map<int, Key> some(const std::vector<Key>& shares, std::initializer_list<int> which) {
    std::map<int, Key> chosen;
    for (const int i : which) chosen[i] = shares[static_cast<std::size_t>(i)];
    return chosen;
}

TEST(Shamir, AnyThresholdOfSharesGivesTheSecret) {
    const auto secret = Secret::random();
    const auto shares = split_secret(secret, 3, 6);
    EXPECT_EQ(join_secret(some(shares, {0, 1, 2})).bytes(), secret.bytes());
    EXPECT_EQ(join_secret(some(shares, {5, 1, 3})).bytes(), secret.bytes());
    EXPECT_EQ(join_secret(some(shares, {0, 1, 2, 3, 4, 5})).bytes(), secret.bytes());
    EXPECT_NE(join_secret(some(shares, {0, 1})).bytes(), secret.bytes());
}

TEST(Shamir, LargestAndSmallest) {
    const auto secret = Secret::random();
    const auto all = split_secret(secret, 255, 255);
    std::map<int, Key> chosen;
    for (int i = 0; i < 255; ++i) chosen[i] = all[static_cast<std::size_t>(i)];
    EXPECT_EQ(join_secret(chosen).bytes(), secret.bytes());
    EXPECT_EQ(join_secret({{6, split_secret(secret, 1, 7)[6]}}).bytes(), secret.bytes());
}

TEST(Shamir, OneShareTooFewFitsEverySecret) {
    // Two shares of a threshold of three, and any secret at all: a third share exists that makes them agree. So the two
    // say nothing. The third is found by joining (secret at 0, two shares) as if the secret were a share.
    const auto shares = split_secret(Secret::random(), 3, 5);
    for (const int guess : {0, 1, 77, 255}) {
        Key wanted;
        wanted.fill(static_cast<std::uint8_t>(guess));
        // Interpolation is linear: the secret changes by weight x change of the third share, and the weight is not 0.
        auto chosen = some(shares, {0, 1, 2});
        const Key before = join_secret(chosen).bytes();
        Key probe = chosen[2];
        probe[0] ^= 1;
        chosen[2] = probe;
        EXPECT_NE(join_secret(chosen).bytes()[0], before[0]);
        bool found = false;
        for (int value = 0; value < 256 && !found; ++value) {
            chosen[2][0] = static_cast<std::uint8_t>(value);
            found = join_secret(chosen).bytes()[0] == wanted[0];
        }
        EXPECT_TRUE(found) << guess;
    }
}

TEST(Shamir, RefusesWhatCannotBe) {
    const auto secret = Secret::random();
    EXPECT_THROW(split_secret(secret, 0, 3), InputError);
    EXPECT_THROW(split_secret(secret, 4, 3), InputError);
    EXPECT_THROW(split_secret(secret, 2, 256), InputError);
    EXPECT_THROW(join_secret({}), InputError);
    EXPECT_THROW(join_secret({{255, Key{}}}), InputError);
}

}  // namespace
}  // namespace couplet
