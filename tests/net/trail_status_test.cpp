#include "couplet/net/trail_status.hpp"

#include "audit_trail.hpp"
#include "kit_lock.hpp"
#include "net_test_support.hpp"

namespace couplet::net {
namespace {

class TrailStatusTest : public NetTest {
  protected:
    TrailStatusTest() {
        kit_.identity = {"fed1", Role::peer, "b"};
        kit_.network = "decentralized";
        kit_.folder = folder_;
        kit_.peers = {{"a", "127.0.0.1:1"}, {"b", "127.0.0.1:2"}, {"c", "127.0.0.1:3"}};
        kit_.links = {{0, 1}, {1, 2}};
    }
    void begin(const std::string& job) {
        trail().write("job", {{"job", job}, {"role", "peer"}, {"text", "rank 3"}, {"version", "1.2.3"}});
    }
    AuditTrail trail() { return AuditTrail(path("audit.jsonl")); }
    void pass(const std::string& event, const std::string& party, Index messages, double bytes) {
        trail().write(event, {{"party", party}, {"messages", messages}, {"bytes", bytes}});
    }
    TrailStatus status() const { return read_trail_status(kit_); }

    Kit kit_;
};

TEST_F(TrailStatusTest, BeforeTheFirstJobThereAreNeighbours) {
    const TrailStatus found = status();
    EXPECT_EQ(found.state, "none");
    ASSERT_EQ(found.neighbours.size(), 2U);
    EXPECT_EQ(found.neighbours[1].name, "c");
    EXPECT_EQ(trail_status_json(found)["neighbours"].size(), 2U);
    EXPECT_FALSE(trail_status_json(found).contains("job"));
}

TEST_F(TrailStatusTest, TheLastJobCounts) {
    const FileLock running = lock_kit(kit_);
    begin("11");
    pass("sent", "a", 7, 700);
    trail().write("ended", {{"outcome", "done"}, {"members", {"a", "b"}}});
    begin("22");
    trail().write("joined", {{"party", "c"}});
    trail().write("joined", {{"party", "nobody"}});
    pass("sent", "a", 2, 20);
    pass("sent", "a", 3, 30);
    pass("received", "c", 1, 10);
    std::ofstream(path("audit.jsonl"), std::ios::app) << "{\"event\": \"sent\", \"par";  // being written
    {
        Log log(path("log.jsonl"), [](std::string_view) {});
        log.info("epoch", "begins with 2 of 3 peers: a, b", {{"epoch", 5}, {"members", {"a", "b"}}});
        log.info("epoch", "begins again", {{"epoch", 9}, {"members", {"b", "c"}}});
    }
    const TrailStatus found = status();
    EXPECT_EQ(found.job, "22");
    EXPECT_EQ(found.state, "running");
    EXPECT_EQ(found.epoch, 9U);
    EXPECT_EQ(found.epochs, 2);
    EXPECT_EQ(found.members, (std::vector<std::string>{"b", "c"}));
    EXPECT_EQ(found.missing, (std::vector<std::string>{"a"}));
    EXPECT_EQ(found.said, "begins again");
    EXPECT_FALSE(found.neighbours[0].joined);
    EXPECT_TRUE(found.neighbours[1].joined);
    EXPECT_EQ(found.neighbours[0].messages_sent, 5);
    EXPECT_EQ(found.neighbours[0].bytes_sent, 50);
    EXPECT_EQ(found.neighbours[0].messages_received, 0);
    EXPECT_EQ(found.neighbours[1].bytes_received, 10);
    const auto json = trail_status_json(found);
    EXPECT_EQ(json["version"], "1.2.3");
    EXPECT_EQ(json["neighbours"][1]["messages_received"], 1);
}

TEST_F(TrailStatusTest, SaysHowItEnded) {
    begin("11");
    EXPECT_EQ(status().state, "interrupted") << "nobody has the kit";
    trail().write("ended", {{"outcome", "failed"}, {"reason", "nobody came"}});
    EXPECT_EQ(status().state, "failed");
    EXPECT_EQ(trail_status_json(status())["reason"], "nobody came");
    trail().write("ended", {{"outcome", 7}, {"members", "all"}});  // of no version
    EXPECT_EQ(status().state, "");
    kit_.identity.role = Role::client;
    EXPECT_NE(complaint([&] { status(); }), "");
}

}  // namespace
}  // namespace couplet::net
