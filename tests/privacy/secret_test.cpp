#include "couplet/privacy/secret.hpp"

#include <gtest/gtest.h>

#include <utility>

namespace couplet {
namespace {

TEST(Secret, IsDrawnAnew) {
    const auto a = Secret::random();
    const auto b = Secret::random();
    EXPECT_NE(a.bytes(), b.bytes());
    EXPECT_NE(a.bytes(), Key{});
}

TEST(Secret, LeavesNothingBehindWhenItMoves) {
    auto a = Secret::random();
    const Key bytes = a.bytes();
    Secret b(std::move(a));
    EXPECT_EQ(b.bytes(), bytes);
    EXPECT_EQ(a.bytes(), Key{});  // NOLINT: what was moved from is wiped, and this says so
    Secret c;
    c = std::move(b);
    EXPECT_EQ(c.bytes(), bytes);
    EXPECT_EQ(b.bytes(), Key{});  // NOLINT
    c.wipe();
    EXPECT_EQ(c.bytes(), Key{});
}

}  // namespace
}  // namespace couplet
