#include "peer_job.hpp"

#include "peer_members_support.hpp"

namespace couplet::net {
namespace {

wire::JobSpec some_spec() { return {resolve_job({.network = Network::decentralized, .rank = 3, .graph = "path"}), {}}; }

TEST(PeerJobTest, TheTextIsTheSameAtEveryPeerAndDiffersWhereTheJobDoes) {
    const std::string text = job_text(some_spec(), std::nullopt, row_kit(3, 0));
    EXPECT_EQ(text, job_text(some_spec(), std::nullopt, row_kit(3, 2)));
    EXPECT_NE(text.find("rank 3, eps none"), std::string::npos) << text;
    EXPECT_NE(text.find("schema agreed, network "), std::string::npos) << text;
    auto other = some_spec();
    other.job.rank = 4;
    EXPECT_NE(text, job_text(other, std::nullopt, row_kit(3, 0)));
    EXPECT_NE(text, job_text(some_spec(), std::nullopt, row_kit(4, 0))) << "another network";
    auto masked = some_spec();
    masked.shield = ShieldTerms{.policy = true, .guarantee = PrivacyGuarantee{2, 1e-5}};
    const std::string masked_text = job_text(masked, std::nullopt, row_kit(3, 0));
    EXPECT_NE(masked_text.find(", masked sums, policy true, colluders"), std::string::npos) << masked_text;
    EXPECT_NE(masked_text.find(", epsilon 2, delta 1e-05"), std::string::npos) << masked_text;
}

TEST(PeerJobTest, TheIdFollowsFromTheText) {
    EXPECT_EQ(id_of("one job"), id_of("one job"));
    EXPECT_NE(id_of("one job"), id_of("another"));
}

TEST(PeerJobTest, LaterProcessesHaveHigherNumbers) {
    const wire::Incarnation first = new_process();
    std::this_thread::sleep_for(3ms);  // the clock counts milliseconds
    EXPECT_GT(new_process(), first);
}

}  // namespace
}  // namespace couplet::net
