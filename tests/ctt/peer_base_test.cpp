#include "peer_base.hpp"

#include "peer_test_support.hpp"

namespace couplet {
namespace {

using namespace support;

/// Four steps, of which everyone is over with the first message; refuses totals of no client.
class EchoPeer final : public PeerBase {
  public:
    EchoPeer(const ConsensusPlan& plan, Index node, TensorView<const double> x)
        : PeerBase(Job{}, plan, node, std::move(x)) {}
    Index personal_rank() const noexcept override { return 0; }
    /// In the order in which they were handled.
    const std::vector<Index>& handled() const { return handled_; }

  private:
    void begin() override { next(); }
    Index last_step() const noexcept override { return 3; }
    void check(Index, const PeerMessage& message) const override {
        if (require_body<Start>(*message.body, "totals").clients < 1) throw InputError({"test", "none", "some", ""});
    }
    void handle(Index, const PeerMessage& message) override {
        handled_.push_back(std::get<Start>(*message.body).clients);
        if (step() == last_step()) {
            finish({random_train<double>({3, 2}, {1, 1, 1}), {}}, PersonalFit{});
        } else {
            next();
        }
    }
    void next() {
        const auto early = post().next_step();
        post().send(1, body_of(Start{step() + 1, 1, 1}));
        if (!early.empty()) handle(early.begin()->first, early.begin()->second);
    }

    std::vector<Index> handled_;
};

struct PeerBaseTest : testing::Test {
    ConsensusPlan plan = make_consensus_plan(make_graph("path", 3, 0), {.engine = ConsensusEngine::tree});
    Tensor<double> x = random_tensor<double>({4, 3, 2});
    EchoPeer peer{plan, 0, x.view()};
    PeerMessage totals(Index step, Index clients) { return message_with(0, step, Start{clients, 1, 1}); }
};

TEST_F(PeerBaseTest, HandlesMessagesInTheOrderOfTheSteps) {
    EXPECT_TRUE(peer.receive(1, totals(1, 20)).empty()) << "before the start, and of a later step";
    EXPECT_TRUE(peer.receive(1, totals(0, 10)).empty());
    EXPECT_TRUE(peer.handled().empty());
    EXPECT_EQ(peer.start().size(), 3U) << "three steps were opened";
    EXPECT_EQ(peer.handled(), (std::vector<Index>{10, 20}));
    EXPECT_TRUE(peer.receive(1, totals(1, 21)).empty()) << "of a step that is over";
    peer.receive(1, totals(2, 30));
    EXPECT_THROW(peer.result(), RunError);
    EXPECT_THROW(peer.features(), RunError);
    peer.receive(1, totals(3, 40));
    EXPECT_EQ(peer.handled(), (std::vector<Index>{10, 20, 30, 40}));
    ASSERT_TRUE(peer.finished());
    EXPECT_NO_THROW(peer.result());
    EXPECT_NO_THROW(peer.features());
    EXPECT_TRUE(peer.receive(1, totals(3, 41)).empty());
    EXPECT_EQ(peer.handled().size(), 4U);
}

TEST_F(PeerBaseTest, RefusesStrangersStepsOutOfReachAndWhatTheProtocolRefuses) {
    peer.start();
    EXPECT_THROW(peer.receive(0, totals(0, 1)), InputError);
    EXPECT_THROW(peer.receive(2, totals(0, 1)), InputError) << "no neighbour of the end of a path";
    EXPECT_THROW(peer.receive(1, totals(-1, 1)), InputError);
    EXPECT_THROW(peer.receive(1, totals(3, 1)), InputError) << "three steps ahead";
    EXPECT_NO_THROW(peer.receive(1, totals(2, 1)));
    EXPECT_THROW(peer.receive(1, {0, 0, 0, nullptr}), InputError);
    EXPECT_THROW(peer.receive(1, totals(0, 0)), InputError);
    EXPECT_THROW(peer.receive(1, message_with(0, 0, Matrix<double>::zeros(1, 1))), InputError);
    EXPECT_TRUE(peer.handled().empty());
}

TEST_F(PeerBaseTest, ATensorHasPatientsAndAFeature) {
    const auto line = random_tensor<double>({4});
    EXPECT_THROW(EchoPeer(plan, 0, line.view()), InputError);
    EXPECT_NO_THROW(require_features(Shape{3, 2}, Shape{3, 2}));
    EXPECT_THROW(require_features(Shape{2, 3}, Shape{3, 2}), InputError);
}

}  // namespace
}  // namespace couplet
