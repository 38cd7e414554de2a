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
}

TEST_F(R1EcgTest, WithoutItsDataItSaysWhatIsMissing) {
    Lab lab(tiny());
    const std::vector<std::string> names{"r1_ecg"};
    const ExperimentResult result = find_experiments(names).front()->run(lab);
    EXPECT_TRUE(result.rows.empty());
    ASSERT_EQ(result.absent.size(), 1U);
    EXPECT_NE(result.absent.front().find("Kaggle"), std::string::npos);
}

}  // namespace
}  // namespace couplet
