#include "message_count.hpp"

#include "audit_trail.hpp"
#include "folder_test.hpp"

namespace couplet::net {
namespace {

wire::Route at(std::uint32_t attempt, std::uint32_t step) { return {wire::protocol_version, {}, attempt, step}; }

TEST(MessageCount, CountsEveryMessageOnceAndRoundsApartFromTheRest) {
    MessageCount count;
    count.add(true, wire::Kind::hello, {}, 100);
    count.add(false, wire::Kind::start, at(1, 1), 50);
    count.add(false, wire::Kind::secure_request, at(1, 2), 7);
    count.add(true, wire::Kind::secure_reply, at(1, 2), 9);
    count.add(true, wire::Kind::secure_reply, at(1, 2), 9);  // the connection broke
    count.add(true, wire::Kind::secure_reply, at(1, 3), 11);
    count.add(true, wire::Kind::secure_reply, at(2, 3), 13);
    count.add(false, wire::Kind::features, at(2, 4), 1000);
    EXPECT_EQ(count.rounds().sent, 33);
    EXPECT_EQ(count.rounds().received, 1007);
    EXPECT_EQ(count.others().sent, 100);
    EXPECT_EQ(count.others().received, 50);
}

using MessageCountTest = testing::FolderTest;

TEST_F(MessageCountTest, GoesOnFromTheTrailOfAnEarlierProcess) {
    const auto file = path("audit.jsonl");
    AuditTrail trail(file);
    const auto write = [&](const char* event, const char* job, const char* party, wire::Kind kind, double bytes) {
        trail.write(event, {{"job", job},
                            {"party", party},
                            {"kind", wire::to_string(kind)},
                            {"attempt", 1},
                            {"step", 2},
                            {"bytes", bytes},
                            {"hash", ""}});
    };
    write(sent_event, "j", "a", wire::Kind::secure_request, 70);
    write(sent_event, "j", "a", wire::Kind::secure_request, 70);  // by the next process, again
    write(received_event, "j", "a", wire::Kind::secure_reply, 30);
    write(received_event, "j", "b", wire::Kind::hello, 20);
    write(received_event, "other", "a", wire::Kind::secure_reply, 1000);
    trail.write("ended", {{"job", "j"}, {"kind", 3}, {"bytes", "many"}});
    auto counted = counted_messages(file, "j");
    ASSERT_EQ(counted.size(), 2U);
    EXPECT_EQ(counted["a"].rounds().sent, 70);
    EXPECT_EQ(counted["a"].rounds().received, 30);
    EXPECT_EQ(counted["b"].others().received, 20);
    counted["a"].add(false, wire::Kind::secure_reply, at(1, 2), 30);
    EXPECT_EQ(counted["a"].rounds().received, 30) << "it came before";
    EXPECT_TRUE(counted_messages(path("none.jsonl"), "j").empty());
}

}  // namespace
}  // namespace couplet::net
