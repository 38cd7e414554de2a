#include "doorman.hpp"

#include "net_test_support.hpp"

namespace couplet::net {
namespace {

class DoormanTest : public NetTest {};

TEST_F(DoormanTest, LetsInPartiesOfItsFederationInTheirRole) {
    const Doorman doorman({"fed1", Role::coordinator, "coordinator"}, path("revoked.txt"));
    const CertificateInfo good{{"fed1", Role::client, "a"}, "AB", 0, 0};
    EXPECT_NO_THROW(doorman.let_in(good, Role::client));
    EXPECT_NE(complaint([&] { doorman.let_in(good, Role::coordinator); }).find("role client"), std::string::npos);
    const CertificateInfo foreign{{"fed2", Role::client, "a"}, "AB", 0, 0};
    EXPECT_NE(complaint([&] { doorman.let_in(foreign, Role::client); }).find("another federation"), std::string::npos);
    write_text(path("revoked.txt"), "AB a\n");
    EXPECT_NE(complaint([&] { doorman.let_in(good, Role::client); }).find("revoked"), std::string::npos);
}

TEST_F(DoormanTest, LimitsHowOftenSomebodyCalls) {
    Doorman doorman({"fed1", Role::coordinator, "coordinator"}, path("revoked.txt"));
    const Doorman::Clock::time_point start;
    int calls = 0;
    while (calls < 1000 && complaint([&] { doorman.limit_rate("a", start); }).empty()) ++calls;
    EXPECT_EQ(calls, calls_at_once);
    EXPECT_NO_THROW(doorman.limit_rate("a 2", start)) << "each has its own share";
    EXPECT_NO_THROW(doorman.limit_rate("a", start + 1s)) << "and gets it back";
}

TEST(ServerThreads, OutlastAllThatPartiesMayOpenAtOnce) {
    for (const int parties : {1, 2, 4, 64}) {
        EXPECT_GT(server_threads(static_cast<std::size_t>(parties)), parties * calls_at_once) << parties;
    }
    EXPECT_EQ(server_threads(10'000), 4096);
}

TEST_F(DoormanTest, NobodyHoldsMoreThanAFewCalls) {
    Doorman doorman({"fed1", Role::coordinator, "coordinator"}, path("revoked.txt"));
    std::vector<Doorman::Place> held;
    for (int i = 0; i < calls_held; ++i) EXPECT_TRUE(held.emplace_back(doorman.take_place("a")));
    EXPECT_FALSE(doorman.take_place("a"));
    EXPECT_TRUE(doorman.take_place("b")) << "each has its own";
    Doorman::Place moved = std::move(held.back());
    held.pop_back();
    EXPECT_FALSE(doorman.take_place("a")) << "it is still held";
    moved = {};
    EXPECT_TRUE(doorman.take_place("a")) << "and is given back";
    held.clear();
    for (int i = 0; i < calls_held; ++i) EXPECT_TRUE(held.emplace_back(doorman.take_place("a")));
}

/// What one party holds and opens in one breath, with those who are told why they are not let in, leaves the others
/// all that they may hold.
TEST(ServerThreads, AreEnoughForWhatAllMayHold) {
    for (const int parties : {1, 2, 4, 64}) {
        EXPECT_GE(server_threads(static_cast<std::size_t>(parties)), (parties + 2) * calls_held) << parties;
        if (parties == 1) continue;
        EXPECT_GE(server_threads(static_cast<std::size_t>(parties)), (parties + 1) * calls_held + calls_at_once);
    }
}

TEST_F(DoormanTest, ALongSilenceBuysNoMoreThanOneBurst) {
    Doorman doorman({"fed1", Role::coordinator, "coordinator"}, path("revoked.txt"));
    const Doorman::Clock::time_point start;
    const auto calls = [&](Doorman::Clock::time_point when) {
        int count = 0;
        while (complaint([&] { doorman.limit_rate("a", when); }).empty() && count < 100'000) ++count;
        return count;
    };
    EXPECT_EQ(calls(start), calls_at_once);
    EXPECT_EQ(calls(start), 0) << "the same moment gives nothing back";
    EXPECT_EQ(calls(start + 1s), 20);
    EXPECT_EQ(calls(start + 1500ms), 10);
    EXPECT_EQ(calls(start + 24h), calls_at_once) << "not what a day would give";
    EXPECT_EQ(complaint([&] { doorman.limit_rate("a", start + 24h); }),
              "a: more calls than anybody needs; expected at most 20 a second for long. Wait a little.");
}

TEST_F(DoormanTest, LimitsHowOftenACertificateConnects) {
    Doorman doorman({"fed1", Role::coordinator, "coordinator"}, path("revoked.txt"));
    const Doorman::Clock::time_point start;
    const auto connections = [&](const std::string& serial, Doorman::Clock::time_point when) {
        int count = 0;
        while (doorman.may_connect(serial, when) && count < 1000) ++count;
        return count;
    };
    EXPECT_EQ(connections("AA", start), calls_at_once);
    EXPECT_EQ(connections("AA", start + 1s), 20);
    EXPECT_EQ(connections("AB", start), calls_at_once) << "each certificate has its own share";
    EXPECT_NO_THROW(doorman.limit_rate("AA", start)) << "and calls are counted apart";
}

TEST_F(DoormanTest, WhoIsBarredWaitsLongerEveryTime) {
    Doorman doorman({"fed1", Role::coordinator, "coordinator"}, path("revoked.txt"));
    Doorman::Clock::time_point now;
    EXPECT_TRUE(doorman.may_connect("AA", now));
    EXPECT_EQ(doorman.bar("AA", now), 10s);
    EXPECT_EQ(doorman.bar("AA", now + 5s), 10s) << "what was called before does not count again";
    EXPECT_FALSE(doorman.may_connect("AA", now + 9999ms));
    EXPECT_TRUE(doorman.may_connect("AB", now));
    now += 10s;
    EXPECT_TRUE(doorman.may_connect("AA", now));
    for (const auto expected : {20s, 40s, 80s, 160s, 320s, 600s, 600s}) {
        EXPECT_EQ(doorman.bar("AA", now), expected);
        EXPECT_FALSE(doorman.may_connect("AA", now + expected - 1ms));
        now += expected;
        EXPECT_TRUE(doorman.may_connect("AA", now));
    }
    EXPECT_EQ(doorman.bar("AA", now + 2h), 10s);
}

TEST_F(DoormanTest, SaysWhyNobodyIsLetIn) {
    const Doorman doorman({"fed1", Role::coordinator, "coordinator"}, path("revoked.txt"));
    const auto refused = [&](const CertificateInfo& caller, Role role) {
        return complaint([&] { doorman.let_in(caller, role); });
    };
    const CertificateInfo caller{{"fed1", Role::client, "a"}, "AB", 0, 0};
    EXPECT_EQ(refused(caller, Role::peer),
              "client a: a certificate for the role client; expected one for the role peer");
    EXPECT_EQ(refused({{"fed2", Role::client, "a"}, "AB", 0, 0}, Role::client),
              "client a: a certificate of another federation; expected one of this federation");
    write_text(path("revoked.txt"), "CD a\n");
    EXPECT_EQ(refused(caller, Role::client), "") << "another serial number of the same name";
    write_text(path("revoked.txt"), "CD a\nAB a\n");
    EXPECT_EQ(
        refused(caller, Role::client),
        "client a: a certificate that was revoked; expected a valid one. Run: couplet provision --rotate a -o KITS");
}

}  // namespace
}  // namespace couplet::net
