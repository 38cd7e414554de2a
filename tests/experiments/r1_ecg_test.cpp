#include "experiment_test_support.hpp"

namespace couplet {
namespace {

class R1EcgTest : public testing::LabTest {};

TEST_F(R1EcgTest, SweepsRankOnTwoClients) {
    put_all();
    const auto result = run("r1_ecg", 2);
    // On two nodes eq. M averages exactly: peers that iterate once are a star whose nodes keep no state of their own.
    const Row* star = find_row(result, "rse", "printed-star", "", 4);
    const Row* peers = find_row(result, "rse", "printed-dec", "L = 1", 4);
    ASSERT_TRUE(star && peers);
    EXPECT_NEAR(star->y.mean, peers->y.mean, 0.02);
    EXPECT_EQ(star->y.count, 2);
    EXPECT_FALSE(star->paper);
    EXPECT_EQ(result.figures[2].title, "Communication, K = 2");
}

TEST_F(R1EcgTest, WithoutItsDataItSaysWhatIsMissing) { expect_absent("r1_ecg"); }

}  // namespace
}  // namespace couplet
