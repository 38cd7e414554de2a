#include "peer_consensus.hpp"

#include "couplet/core/error.hpp"
#include "peer_test_support.hpp"

namespace couplet {
namespace {

using namespace support;

std::vector<double> values_in(const PeerMessage& message) {
    return std::get<Released<std::vector<double>>>(*message.body).get();
}

std::vector<double> copy_of(std::span<const double> values) { return {values.begin(), values.end()}; }

/// Two neighbours with weights 1/2: one exchange is the mean.
struct Pair {
    ConsensusPlan plan = make_consensus_plan(make_graph("path", 2, 0), {.engine = ConsensusEngine::finite_time});
    PeerConsensus one{plan, 0};
    PeerConsensus two{plan, 1};
    PeerPost post_one;
    PeerPost post_two;
};

TEST(PeerConsensus, EndsWithTheMeanOfWhatNodesBeganWith) {
    Pair pair;
    pair.one.begin(state_of(3, 1.0), pair.post_one);
    pair.two.begin(state_of(3, 5.0), pair.post_two);
    const auto from_one = pair.post_one.take();
    const auto from_two = pair.post_two.take();
    ASSERT_EQ(from_one.size(), 1U);
    EXPECT_EQ(from_one[0].to, 1);
    EXPECT_EQ(from_one[0].step, 0);
    EXPECT_EQ(values_in(from_one[0]), std::vector<double>(3, 1.0));
    EXPECT_FALSE(pair.one.finished());
    pair.one.receive(1, from_two.at(0), pair.post_one);
    pair.two.receive(0, from_one[0], pair.post_two);
    for (const PeerConsensus* node : {&pair.one, &pair.two}) {
        ASSERT_TRUE(node->finished());
        for (const double value : node->ends().result) EXPECT_NEAR(value, 3.0, 1e-14);
    }
    EXPECT_EQ(copy_of(pair.two.ends().initial), std::vector<double>(3, 5.0));
}

TEST(PeerConsensus, EveryConsensusIsAStepOfItsOwnAndTakesWhatCameBefore) {
    Pair pair;
    pair.one.begin(state_of(2, 1.0), pair.post_one);
    pair.post_one.keep(1, message_with(0, 1, state_of(4, 9.0)));
    pair.one.receive(1, message_with(0, 0, state_of(2, 3.0)), pair.post_one);
    ASSERT_TRUE(pair.one.finished());
    pair.one.begin(state_of(4, 1.0), pair.post_one);
    EXPECT_EQ(pair.post_one.step(), 1);
    ASSERT_TRUE(pair.one.finished()) << "the state that came early was not taken";
    for (const double value : pair.one.ends().result) EXPECT_NEAR(value, 5.0, 1e-14);
}

TEST(PeerConsensus, AnEarlyStateOfAnotherSizeIsForgotten) {
    Pair pair;
    pair.post_one.keep(1, message_with(0, 0, state_of(3, 9.0)));
    pair.one.begin(state_of(4, 1.0), pair.post_one);
    EXPECT_FALSE(pair.one.finished());
    EXPECT_THROW(pair.one.receive(1, message_with(0, 0, state_of(3, 9.0)), pair.post_one), InputError);
    pair.one.receive(1, message_with(0, 0, state_of(4, 9.0)), pair.post_one);
    EXPECT_TRUE(pair.one.finished());
}

TEST(PeerConsensus, ChecksTheKindAndThatALaterStepIsAtItsBeginning) {
    EXPECT_THROW(PeerConsensus::check(message_with(0, 0, Start{1, 1, 1}), 0), InputError);
    EXPECT_THROW(PeerConsensus::check(message_with(0, 2, state_of(3, 1.0), 1), 0), InputError);
    EXPECT_NO_THROW(PeerConsensus::check(message_with(0, 2, state_of(3, 1.0), 0), 0));
    EXPECT_NO_THROW(PeerConsensus::check(message_with(0, 2, state_of(3, 1.0), 1), 2));
}

}  // namespace
}  // namespace couplet
