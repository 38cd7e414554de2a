#include "link_ledger.hpp"

#include <gtest/gtest.h>

#include <functional>

#include "couplet/core/error.hpp"
#include "couplet/core/random.hpp"

namespace couplet::net {
namespace {

using wire::Greeting;

std::shared_ptr<const wire::Message> numbered(std::uint32_t step) {
    return std::make_shared<const wire::Message>(
        wire::Message{{1, {}, 1, step}, wire::PeerBasis{Matrix<double>(1, 1)}});
}

TEST(LinkLedgerTest, SendsAgainWhatHasNotArrived) {
    LinkLedger ledger(1);
    EXPECT_TRUE(ledger.begin({7, "", "", 0, 0}));
    for (std::uint32_t i = 0; i < 4; ++i) ledger.post(numbered(i));
    EXPECT_EQ(ledger.next()->route.step, 0U);
    EXPECT_EQ(ledger.next()->route.step, 1U);
    EXPECT_EQ(ledger.next()->route.step, 2U);
    ledger.acknowledge(1);
    EXPECT_FALSE(ledger.begin({7, "", "", 1, 2}));
    EXPECT_EQ(ledger.next()->route.step, 2U);
    EXPECT_EQ(ledger.next()->route.step, 3U);
    EXPECT_EQ(ledger.next(), nullptr);
    EXPECT_FALSE(ledger.drained());
    ledger.acknowledge(4);
    EXPECT_TRUE(ledger.drained());
}

TEST(LinkLedgerTest, AnotherProcessStartsFromNothing) {
    LinkLedger ledger(1);
    ledger.begin({7, "", "", 0, 0});
    ledger.post(numbered(0));
    ledger.arrived();
    EXPECT_EQ(ledger.greeting("job", "v").answers, 7U);
    EXPECT_EQ(ledger.greeting("job", "v").received, 1U);
    EXPECT_TRUE(ledger.begin({8, "", "", 0, 0}));
    EXPECT_TRUE(ledger.drained());
    EXPECT_EQ(ledger.received(), 0U);
    EXPECT_EQ(ledger.process(), 8U);
}

TEST(LinkLedgerTest, ClaimsOfWhatWasNeverSentAreRefused) {
    LinkLedger ledger(1);
    ledger.begin({7, "", "", 0, 0});
    ledger.post(numbered(0));
    const auto refused = [](const std::function<void()>& claim) {
        try {
            claim();
        } catch (const InputError& error) {
            return std::string(error.what());
        }
        return std::string();
    };
    EXPECT_EQ(refused([&] { ledger.acknowledge(1); }),
              "peer: 1 messages that it says have arrived; expected at most the 0 that were sent");
    EXPECT_EQ(refused([&] {
                  ledger.begin({7, "", "", 1, 2});
              }),
              "peer: 2 messages that it says have arrived; expected at most the 1 that were sent");
    ledger.next();
    EXPECT_THROW(ledger.acknowledge(2), InputError);
    EXPECT_THROW(ledger.begin({7, "", "", 1, 9}), InputError);
    ledger.acknowledge(1);
    EXPECT_THROW(ledger.begin({7, "", "", 1, 0}), InputError) << "what it had confirmed";
}

/// One that knows another process of this end has nothing of this one, whatever it counts.
TEST(LinkLedgerTest, WhatAnotherProcessHasSentDoesNotCount) {
    LinkLedger ledger(1);
    ledger.begin({7, "", "", 0, 0});
    ledger.post(numbered(0));
    ledger.post(numbered(1));
    ledger.next();
    EXPECT_FALSE(ledger.begin({7, "", "", 9, 2}));
    EXPECT_EQ(ledger.next()->route.step, 0U) << "sent again from the first";
    ledger.acknowledge(1);
    ledger.acknowledge(1);
    EXPECT_EQ(ledger.next()->route.step, 1U) << "told twice, counted once";
    ledger.arrived();
    const Greeting own = ledger.greeting("job", "v");
    EXPECT_EQ(own.incarnation, 1U);
    EXPECT_EQ(own.job, "job");
    EXPECT_EQ(own.version, "v");
    EXPECT_EQ(own.answers, 7U);
    EXPECT_EQ(own.received, 1U);
}

TEST(LinkLedgerTest, KnowsWhetherABulletinWaits) {
    LinkLedger ledger(1);
    ledger.begin({7, "", "", 0, 0});
    EXPECT_FALSE(ledger.has_bulletin());
    ledger.post(std::make_shared<const wire::Message>(wire::Message{{}, wire::Bulletin{}}));
    EXPECT_TRUE(ledger.has_bulletin());
    ledger.next();
    ledger.acknowledge(1);
    EXPECT_FALSE(ledger.has_bulletin());
}

/// Two ends and a connection that breaks at random: everything arrives once and in order.
TEST(LinkLedgerTest, NothingIsLostOrDoubledOverBrokenConnections) {
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
        Random random(seed);
        LinkLedger a(1);
        LinkLedger b(2);
        std::vector<std::uint32_t> arrived;
        std::uint32_t posted = 0;
        a.begin(b.greeting("", ""));
        b.begin(a.greeting("", ""));
        a.begin(b.greeting("", ""));
        for (int turn = 0; turn < 400 || arrived.size() < posted; ++turn) {
            switch (random.below(turn < 400 ? 5 : 4)) {
                case 0:
                    if (const auto message = a.next()) {
                        b.arrived();
                        arrived.push_back(message->route.step);
                    }
                    break;
                case 1:
                    a.next();  // sent, and lost with the connection
                    a.begin(b.greeting("", ""));
                    break;
                case 2:
                    b.begin(a.greeting("", ""));
                    a.begin(b.greeting("", ""));
                    break;
                case 3:
                    if (random.below(2) == 0) a.acknowledge(b.received());
                    break;
                default:
                    a.post(numbered(posted++));
            }
        }
        ASSERT_EQ(arrived.size(), posted);
        for (std::uint32_t i = 0; i < posted; ++i) ASSERT_EQ(arrived[i], i) << seed;
    }
}

}  // namespace
}  // namespace couplet::net
