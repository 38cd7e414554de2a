#include "experiment_test_support.hpp"

namespace couplet {
namespace {

class EpsGridTest : public testing::LabTest {};

TEST_F(EpsGridTest, CoversBothDataSets) {
    put_all();
    const auto result = run("eps_grid");
    EXPECT_EQ(result.figures.size(), 4U);
    // A coarser client sends less.
    const Row* fine = find_row(result, "numbers_synthetic", "printed-star", "eps2 = 0.05", 0.1);
    const Row* coarse = find_row(result, "numbers_synthetic", "printed-star", "eps2 = 0.05", 0.5);
    ASSERT_TRUE(fine && coarse);
    EXPECT_LE(coarse->y.mean, fine->y.mean);
}

}  // namespace
}  // namespace couplet
