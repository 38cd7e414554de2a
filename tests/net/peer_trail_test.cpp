#include "peer_trail.hpp"

#include "peer_members_support.hpp"

namespace couplet::net {
namespace {

class PeerTrailTest : public NetTest {
  protected:
    PeerTrailTest() : kit_(row_kit(2, 0)) { kit_.folder = folder_; }
    std::vector<nlohmann::json> lines() const {
        std::vector<nlohmann::json> result;
        std::ifstream stream(path("audit.jsonl"));
        for (std::string line; std::getline(stream, line);) result.push_back(nlohmann::json::parse(line));
        return result;
    }
    Kit kit_;
};

TEST_F(PeerTrailTest, WritesDownTheJobWhoIsThereAndWhatPasses) {
    const PeerNetwork network(kit_);
    PeerTrail trail(network);
    const wire::JobId id = wire::parse_job_id("00112233445566778899aabbccddeeff");
    trail.set_job(id);
    trail.begin("the job in words", {resolve_job({.network = Network::decentralized, .rank = 3}), {}});
    trail.recognise("b", "0a", "127.0.0.1");
    trail.recognise("b", "0a", "127.0.0.1");
    trail.count(1, true, wire::Kind::bulletin, {10, "one"});
    trail.count(1, true, wire::Kind::bulletin, {20, "two"});
    trail.count(1, false, wire::Kind::bulletin, {5, "three"});
    trail.write_traffic(9);
    trail.write_traffic(9);
    const auto all = lines();
    ASSERT_EQ(all.size(), 4U) << "what is said twice and what is nothing are not written";
    for (const auto& line : all) EXPECT_EQ(line["job"], wire::to_hex(id));
    EXPECT_EQ(all[0]["event"], "job");
    EXPECT_EQ(all[0]["party"], "a");
    EXPECT_EQ(all[0]["text"], "the job in words");
    EXPECT_EQ(all[1]["event"], "joined");
    EXPECT_EQ(all[1]["serial"], "0a");
    EXPECT_EQ(all[2]["event"], "received");
    EXPECT_EQ(all[2]["hash"], sha256("three"));
    EXPECT_EQ(all[3]["event"], "sent");
    EXPECT_EQ(all[3]["party"], "b");
    EXPECT_EQ(all[3]["epoch"], 9);
    EXPECT_EQ(all[3]["messages"], 2);
    EXPECT_EQ(all[3]["bytes"], 30);
    EXPECT_EQ(all[3]["hash"], sha256("onetwo"));
}

TEST_F(PeerTrailTest, TheEndComesAfterAllThatPassed) {
    const PeerNetwork network(kit_);
    PeerTrail trail(network);
    trail.count(1, true, wire::Kind::bulletin, {10, "one"});
    PeerResult result;
    result.job = "result";
    result.members = {"a", "b"};
    result.features = Features{random_train<double>({6, 7}, {2, 2, 1}), {}, false};
    result.personal = Matrix<double>::identity(2);
    result.doubts = {{"b", "a large norm"}};
    trail.end(result, 3);
    trail.count(1, false, wire::Kind::bulletin, {10, "one"});
    trail.fail("nobody is there", 3);
    const auto all = lines();
    ASSERT_EQ(all.size(), 4U);
    EXPECT_EQ(all[0]["event"], "sent");
    EXPECT_EQ(all[1]["outcome"], "done");
    EXPECT_EQ(all[1]["features"], result_hash(result.features));
    EXPECT_EQ(all[1]["doubts"][0]["client"], "b");
    EXPECT_FALSE(all[1].contains("rel_error_bound"));
    EXPECT_EQ(all[2]["event"], "received");
    EXPECT_EQ(all[3]["outcome"], "failed");
    EXPECT_EQ(all[3]["reason"], "nobody is there");
    EXPECT_EQ(first_broken_line(path("audit.jsonl")), std::nullopt);
}

TEST_F(PeerTrailTest, WhatCannotBeWrittenDownIsAnError) {
    kit_.folder = path("kit");
    std::filesystem::create_directory(kit_.folder);
    const PeerNetwork network(kit_);
    PeerTrail trail(network);
    EXPECT_FALSE(trail.is_due()) << "a second has not passed";
    std::filesystem::remove_all(kit_.folder);
    EXPECT_THROW(trail.fail("nobody is there", 0), RunError);
}

}  // namespace
}  // namespace couplet::net
