#include "coordinator_trail.hpp"

#include "net_test_support.hpp"

namespace couplet::net {
namespace {

class CoordinatorTrailTest : public NetTest {
  protected:
    CoordinatorTrailTest() {
        kit_.folder = path("");
        kit_.identity = {"", Role::coordinator, "coordinator"};
    }
    std::vector<nlohmann::json> lines() const {
        std::vector<nlohmann::json> result;
        std::ifstream stream(path("audit.jsonl"));
        for (std::string line; std::getline(stream, line);) result.push_back(nlohmann::json::parse(line));
        return result;
    }
    Kit kit_;
};

TEST_F(CoordinatorTrailTest, SaysWhatTheJobWasAndHowItEnded) {
    CoordinatorTrail trail(kit_);
    JobFile job;
    job.id = wire::JobId{9};
    job.version = "1.2.3";
    job.spec = {resolve_job({.rank = 3}), {}};
    job.roster = {"a", "b"};
    trail.begin(job);
    trail.audit().write_once("a", "received", {{"kind", "upload"}});
    trail.audit().write_once("a", "received", {{"kind", "upload"}});
    CoordinatorResult result;
    result.job = wire::to_hex(job.id);
    result.members = {"a"};
    result.missing = {"b"};
    result.doubts = {{"a", "its norm"}};
    const auto x = random_tensor<double>({9, 5, 4}, 1);
    const Features features = orthonormal_features(block_train(compress_client(x.view(), {0, 0, 3}).block.get()));
    trail.end(result, features);
    const auto said = lines();
    ASSERT_EQ(said.size(), 3U);
    EXPECT_EQ(said[0]["event"], "job");
    EXPECT_EQ(said[0]["begun_by"], "1.2.3");
    EXPECT_EQ(said[0]["roster"], (std::vector<std::string>{"a", "b"}));
    EXPECT_EQ(said[2]["outcome"], "done");
    EXPECT_EQ(said[2]["features"], result_hash(features));
    EXPECT_EQ(said[2]["doubts"][0]["reason"], "its norm");
    EXPECT_EQ(said[2]["repeated"]["a"], 1) << "what was not written again is counted";
    EXPECT_FALSE(first_broken_line(path("audit.jsonl")));
}

TEST_F(CoordinatorTrailTest, AFailureHasItsReason) {
    CoordinatorTrail trail(kit_);
    trail.fail("0011", "nobody came");
    EXPECT_EQ(lines().front()["outcome"], "failed");
    EXPECT_EQ(lines().front()["reason"], "nobody came");
}

}  // namespace
}  // namespace couplet::net
