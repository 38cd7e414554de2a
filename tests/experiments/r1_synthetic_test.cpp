#include "experiment_test_support.hpp"

namespace couplet {
namespace {

class R1SyntheticTest : public testing::LabTest {};

TEST_F(R1SyntheticTest, OursIsCentralized) {
    put_all();
    const auto result = run("r1_synthetic", 2);
    const Row* ours = find_row(result, "rse", "ctt-star", "", 4);
    const Row* all = find_row(result, "rse", "centralized", "", 4);
    ASSERT_TRUE(ours && all);
    EXPECT_LE(ours->y.mean, 1.2 * all->y.mean + 1e-3);
    EXPECT_FALSE(result.findings.empty());
    EXPECT_EQ(result.figures[2].title, "Communication, K = 4");
}

}  // namespace
}  // namespace couplet
