#include "client_trail.hpp"

#include "net_test_support.hpp"

namespace couplet::net {
namespace {

class ClientTrailTest : public NetTest {
  protected:
    ClientTrailTest() {
        kit_.folder = path("");
        kit_.identity = {"", Role::client, "hospital"};
    }
    std::vector<nlohmann::json> lines() const {
        std::vector<nlohmann::json> result;
        std::ifstream stream(path("audit.jsonl"));
        for (std::string line; std::getline(stream, line);) result.push_back(nlohmann::json::parse(line));
        return result;
    }
    Kit kit_;
};

TEST_F(ClientTrailTest, SaysWhatTheJobWasWhatPassedAndHowItEnded) {
    ClientTrail trail(kit_);
    wire::Welcome job;
    job.spec.job = resolve_job({.rank = 3});
    job.clients = 4;
    const wire::Message welcome{{wire::protocol_version, wire::JobId{9}, 0, 0}, job};
    trail.begin(welcome, "12ab", "127.0.0.1:5000");
    trail.received(welcome, {100, "cafe"});
    trail.received(welcome, {100, "cafe"});
    trail.sent({{wire::protocol_version, wire::JobId{9}, 2, 1}, wire::Report{}}, {50, "beef"});
    trail.fail(wire::to_hex(wire::JobId{9}), "nobody came");
    const auto said = lines();
    ASSERT_EQ(said.size(), 4U) << "what is repeated is written once";
    EXPECT_EQ(said[0]["event"], "job");
    EXPECT_EQ(said[0]["party"], "hospital");
    EXPECT_EQ(said[0]["coordinator"]["serial"], "12ab");
    EXPECT_EQ(said[0]["clients"], 4);
    EXPECT_EQ(said[1]["event"], "received");
    EXPECT_EQ(said[1]["hash"], "cafe");
    EXPECT_EQ(said[2]["event"], "sent");
    EXPECT_EQ(said[2]["attempt"], 2);
    EXPECT_EQ(said[3]["outcome"], "failed");
    EXPECT_EQ(said[3]["reason"], "nobody came");
    EXPECT_FALSE(first_broken_line(path("audit.jsonl")));
}

TEST_F(ClientTrailTest, AResultIsKnownByItsNumbers) {
    ClientTrail trail(kit_);
    ClientResult result;
    result.job = "1";
    result.members = {"a", "b"};
    const auto x = random_tensor<double>({9, 5, 4}, 1);
    result.features = orthonormal_features(block_train(compress_client(x.view(), {0, 0, 3}).block.get()));
    result.personal = Matrix<double>::zeros(9, 3);
    result.doubt = "too small";
    trail.end(result);
    const auto said = lines().front();
    EXPECT_EQ(said["outcome"], "done");
    EXPECT_EQ(said["features"], result_hash(result.features));
    EXPECT_EQ(said["personal"], result_hash(result.personal));
    EXPECT_EQ(said["doubt"], "too small");
    EXPECT_FALSE(said.contains("rel_error_bound"));
}

}  // namespace
}  // namespace couplet::net
