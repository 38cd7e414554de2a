#include "early_mail.hpp"

#include <gtest/gtest.h>

namespace couplet::net {
namespace {

Arrived message(Index neighbour, std::uint64_t epoch, std::uint32_t step = 0) {
    return {neighbour, 7, {{wire::protocol_version, {}, EarlyMail::mark(epoch), step}, wire::Beat{}}};
}

std::vector<std::uint32_t> steps(const std::vector<Arrived>& all) {
    std::vector<std::uint32_t> result;
    for (const Arrived& arrived : all) result.push_back(arrived.message.route.step);
    return result;
}

/// Numbers as membership makes them: counted in the high bits, the proposer's own below.
constexpr std::uint64_t number(std::uint64_t count) { return count << 20 | 0x12345; }

TEST(EarlyMailTest, WhatComesBeforeItsEpochWaitsForIt) {
    EarlyMail mail;
    EXPECT_FALSE(mail.sort(message(1, number(1), 1)));
    EXPECT_FALSE(mail.sort(message(2, number(1), 2)));
    EXPECT_FALSE(mail.sort(message(1, number(1), 3)));
    EXPECT_EQ(steps(mail.begin(number(1))), (std::vector<std::uint32_t>{1, 2, 3}));
    EXPECT_TRUE(mail.sort(message(1, number(1), 4)));
    EXPECT_FALSE(mail.sort(message(1, number(2), 5)));
    EXPECT_FALSE(mail.sort(message(2, number(1) + 1, 6))) << "another proposer's";
    EXPECT_EQ(steps(mail.begin(number(2))), (std::vector<std::uint32_t>{5}));
    EXPECT_TRUE(mail.begin(number(3)).empty());
}

TEST(EarlyMailTest, WhatIsOverIsDropped) {
    EarlyMail mail;
    mail.begin(number(1));
    mail.begin(number(2));
    for (int i = 0; i < 100; ++i) EXPECT_FALSE(mail.sort(message(1, number(1))));
    EXPECT_FALSE(mail.sort(message(1, number(3), 9)));
    EXPECT_EQ(steps(mail.begin(number(3))), (std::vector<std::uint32_t>{9})) << "they took no room";
}

/// After 4,096 proposals the mark begins anew: what comes early then is no older than what runs.
TEST(EarlyMailTest, MarksThatWrapAreAsGoodAsOthers) {
    EarlyMail mail;
    ASSERT_LT(EarlyMail::mark(number(4096)), EarlyMail::mark(number(4095)));
    mail.begin(number(4095));
    EXPECT_FALSE(mail.sort(message(1, number(4096), 1)));
    EXPECT_EQ(steps(mail.begin(number(4096))), (std::vector<std::uint32_t>{1}));
    EXPECT_TRUE(mail.sort(message(1, number(4096))));
    // The same proposer's marks come again.
    for (std::uint64_t count = 4097; count <= 8193; ++count) mail.begin(number(count));
    ASSERT_EQ(EarlyMail::mark(number(4098)), EarlyMail::mark(number(8194)));
    EXPECT_FALSE(mail.sort(message(1, number(8194), 2)));
    EXPECT_EQ(steps(mail.begin(number(8194))), (std::vector<std::uint32_t>{2}));
}

/// The number of a peer that jumps ahead, as one with a kit can make it.
TEST(EarlyMailTest, NumbersThatJumpAreAsGoodAsOthers) {
    EarlyMail mail;
    mail.begin(number(4000));
    constexpr std::uint64_t far = number((std::uint64_t{1} << 40) + 3);
    EXPECT_FALSE(mail.sort(message(1, far, 1)));
    EXPECT_EQ(steps(mail.begin(far)), (std::vector<std::uint32_t>{1}));
}

TEST(EarlyMailTest, EachNeighbourHasItsShareAndSpeaksOfOneEpoch) {
    EarlyMail mail;
    for (std::uint32_t i = 0; i < 40; ++i) mail.sort(message(1, number(1), i));
    for (std::uint32_t i = 0; i < 3; ++i) mail.sort(message(2, number(2), i));
    mail.sort(message(3, number(2), 50));
    // It has left the first epoch, which never came here.
    mail.sort(message(1, number(2), 60));
    mail.forget(3);
    EXPECT_EQ(steps(mail.begin(number(2))), (std::vector<std::uint32_t>{0, 1, 2, 60}));
    for (std::uint32_t i = 0; i < 40; ++i) mail.sort(message(1, number(3), i));
    EXPECT_EQ(mail.begin(number(3)).size(), 16U);
}

}  // namespace
}  // namespace couplet::net
