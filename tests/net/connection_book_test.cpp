#include "connection_book.hpp"

#include "net_test_support.hpp"

namespace couplet::net {
namespace {

using Id = ConnectionBook::Id;
using Ids = std::vector<Id>;

ConnectionBook::Clock::time_point at(int seconds) {
    return ConnectionBook::Clock::time_point(std::chrono::seconds(1000 + seconds));
}

std::string caller(int host, int port) { return "10.0.0." + std::to_string(host) + ":" + std::to_string(port); }

TEST(ConnectionBookTest, LimitsLeaveRoomForFilesAndForParties) {
    const ConnectionLimits small = connection_limits(5, 1024);
    EXPECT_EQ(small.strangers, 84U) << "half of the room that five parties and strangers may take";
    EXPECT_EQ(small.total, 168U);
    const ConnectionLimits large = connection_limits(1000, 4096);
    EXPECT_EQ(large.total, 4096U - reserved_descriptors - 1000);
    EXPECT_EQ(large.strangers, 1500U);
    // A limit that is no limit to live with still lets somebody in.
    const ConnectionLimits none = connection_limits(50, 64);
    EXPECT_EQ(none.total, 32U);
    EXPECT_EQ(none.strangers, 32U);
}

TEST(ConnectionBookTest, StrangersGoWhenTheirTimeIsOver) {
    ConnectionBook book({.total = 10, .strangers = 5, .handshake = 10s});
    const Id early = book.add(caller(1, 1), at(0));
    const Id named = book.add(caller(1, 2), at(0));
    book.add(caller(1, 3), at(5));
    EXPECT_TRUE(book.admit(caller(1, 2), "a", "AA"));
    EXPECT_FALSE(book.admit(caller(1, 9), "a", "AA")) << "no such connection";
    EXPECT_EQ(book.excess(at(10)), Ids{});
    EXPECT_EQ(book.excess(at(11)), Ids{early});
    book.remove(early);
    EXPECT_EQ(book.strangers(), 1U);
    EXPECT_EQ(book.size(), 2U);
    EXPECT_EQ(book.of_serials({"AA", "BB"}), Ids{named});
    EXPECT_EQ(book.of_serials({""}), Ids{});
}

TEST(ConnectionBookTest, WhoSendsMoreThanIsOfUseIsNoise) {
    ConnectionBook book(
        {.total = 10, .strangers = 5, .stranger_bytes = 100, .idle_bytes = 1000, .idle_bytes_per_second = 10});
    const auto noisy = [&](int seconds) {
        Ids ids;
        for (const auto& noise : book.noise(at(seconds))) ids.push_back(noise.id);
        return ids;
    };
    const Id stranger = book.add(caller(1, 1), at(0));
    const Id party = book.add(caller(1, 2), at(0));
    book.admit(caller(1, 2), "a", "AA");
    book.received(stranger, 100);
    book.received(party, 1000);
    EXPECT_EQ(noisy(0), Ids{});
    book.received(stranger, 101);
    EXPECT_EQ(noisy(0), Ids{stranger});
    EXPECT_EQ(noisy(9), Ids{stranger}) << "time is for parties";
    book.credit(caller(1, 1), 1000);
    EXPECT_EQ(noisy(0), Ids{stranger}) << "and so is use";
    book.received(party, 1011);
    EXPECT_EQ(noisy(1), (Ids{stranger, party}));
    EXPECT_EQ(noisy(2), Ids{stranger});
    book.received(party, 6000);
    book.credit(caller(1, 2), 4000);
    book.credit(caller(1, 2), 990);
    EXPECT_EQ(noisy(1), Ids{stranger});
    EXPECT_EQ(noisy(0), (Ids{stranger, party}));
    EXPECT_EQ(book.noise(at(0))[1].party, "a");
    EXPECT_EQ(book.noise(at(0))[1].bytes, 6000U);
    book.credit(caller(9, 9), 1);  // gone already
    EXPECT_EQ(book.find(caller(1, 2)), party);
    EXPECT_EQ(book.find(caller(9, 9)), std::nullopt);
}

TEST(ConnectionBookTest, TheHostWithMostStrangersGivesWayWhetherTheySpeakOrNot) {
    ConnectionBook book({.total = 100, .strangers = 4});
    Ids flood;
    for (int i = 0; i < 4; ++i) flood.push_back(book.add(caller(1, i), at(0)));
    const Id honest = book.add(caller(2, 1), at(1));
    EXPECT_EQ(book.excess(at(1)), Ids{flood[0]}) << "the oldest of the host that has four";
    for (const Id id : flood) book.spoke(id);
    EXPECT_EQ(book.excess(at(1)), Ids{flood[0]}) << "the only silent one is the newcomer, " << honest;
    EXPECT_EQ(book.weakest(), flood[0]);
}

/// Among equals neither a flood of silence nor one of single bytes takes the places of the others.
TEST(ConnectionBookTest, OfOneHostTheMoreOfThoseWhoSpeakAndThoseWhoDoNotGiveWay) {
    ConnectionBook book({.total = 100, .strangers = 4});
    const Id spoken = book.add(caller(1, 0), at(0));
    book.spoke(spoken);
    Ids flood;
    for (int i = 1; i < 5; ++i) flood.push_back(book.add(caller(1, i), at(0)));
    EXPECT_EQ(book.excess(at(0)), Ids{flood[0]}) << "silent ones beside one that speaks";
    for (const Id id : flood) book.spoke(id);
    const Id newcomer = book.add(caller(1, 9), at(0));
    EXPECT_EQ(book.excess(at(0)), (Ids{spoken, flood[0]})) << "the oldest, not the newcomer " << newcomer;
}

/// A stranger behind every address: a newcomer stays while half of the places are filled again.
TEST(ConnectionBookTest, AFloodFromManyHostsLeavesANewcomerTime) {
    ConnectionBook book({.total = 100, .strangers = 16});
    const auto arrive = [&](int host) {
        const Id id = book.add(caller(host, 1), at(0));
        for (const Id gone : book.excess(at(0))) book.remove(gone);
        book.spoke(id);
        return id;
    };
    for (int host = 1; host <= 16; ++host) arrive(host);
    arrive(100);
    for (int host = 17; host < 17 + 15; ++host) {
        arrive(host);
        EXPECT_TRUE(book.find(caller(100, 1))) << host;
    }
    arrive(60);
    EXPECT_FALSE(book.find(caller(100, 1))) << "it was the oldest";
}

/// A hospital behind one address, whose clients come back at once.
TEST(ConnectionBookTest, AHostHasAShareForEveryPartyThatCameFromIt) {
    ConnectionBook book({.total = 100, .strangers = 8});
    for (int i = 0; i < 3; ++i) {
        const Id id = book.add(caller(1, i), at(0));
        book.admit(caller(1, i), "party " + std::to_string(i), "AA");
        book.remove(id);
    }
    Ids flood;
    for (int host = 2; host < 7; ++host) flood.push_back(book.add(caller(host, 1), at(1)));
    for (int i = 10; i < 13; ++i) book.add(caller(1, i), at(1));
    EXPECT_EQ(book.excess(at(1)), Ids{});
    book.add(caller(1, 13), at(1));
    EXPECT_EQ(book.excess(at(1)), Ids{flood[0]}) << "four for four shares are as many as one for one";
    const Id fifth = book.add(caller(1, 14), at(1));
    EXPECT_EQ(book.excess(at(1)), (Ids{flood[0], book.find(caller(1, 10)).value()})) << fifth;
    book.admit(caller(2, 1), "party 0", "AA");
    EXPECT_EQ(book.weakest(), book.find(caller(1, 10))) << "one of the parties lives elsewhere now";
}

TEST(ConnectionBookTest, ANetworkOfIPv6IsOneHost) {
    ConnectionBook book({.total = 100, .strangers = 3});
    const Id honest = book.add("[2001:db8:0:2::1]:1", at(0));
    const Id first = book.add("[2001:db8:0:1::1]:1", at(0));
    book.add("[2001:db8:0:1::2]:1", at(0));
    book.add("[2001:db8:0:1:ffff::]:1", at(0));
    EXPECT_EQ(book.excess(at(0)), Ids{first}) << honest;
}

TEST(ConnectionBookTest, NeitherAFloodNorAnotherPartyTakesAPartysPlace) {
    ConnectionBook book({.total = 6, .strangers = 4, .per_party = 2});
    const Id a = book.add(caller(1, 1), at(0));
    book.admit(caller(1, 1), "a", "AA");
    Ids greedy;
    for (int i = 0; i < 4; ++i) {
        greedy.push_back(book.add(caller(1, 10 + i), at(0)));
        book.admit(caller(1, 10 + i), "b", "BB");
    }
    EXPECT_EQ(book.excess(at(0)), (Ids{greedy[0], greedy[1]})) << "its oldest";
    book.remove(greedy[0]);
    book.remove(greedy[1]);
    Ids strangers;
    for (int i = 0; i < 4; ++i) strangers.push_back(book.add(caller(1, 20 + i), at(0)));
    EXPECT_EQ(book.excess(at(0)), Ids{strangers[0]}) << "seven are one too many";
    for (const Id id : strangers) book.remove(id);
    EXPECT_EQ(book.weakest(), std::nullopt) << "parties only";
    EXPECT_EQ(book.excess(at(100)), Ids{}) << "who has a name may stay: " << a;
}

/// Ports are used again: the connection that stands is the newer one.
TEST(ConnectionBookTest, AnAddressUsedAgainIsTheNewerConnection) {
    ConnectionBook book({.total = 10, .strangers = 5});
    const Id before = book.add(caller(1, 1), at(0));
    const Id after = book.add(caller(1, 1), at(1));
    book.admit(caller(1, 1), "a", "AA");
    EXPECT_EQ(book.of_serials({"AA"}), Ids{after});
    EXPECT_EQ(book.weakest(), before);
}

}  // namespace
}  // namespace couplet::net
