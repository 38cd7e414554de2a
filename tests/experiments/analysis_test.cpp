#include "experiment_test_support.hpp"

namespace couplet {
namespace {

class AnalysisTest : public testing::LabTest {};

TEST_F(AnalysisTest, PeersFollowTheFormula) {
    put_all();
    const auto result = run("analysis");
    EXPECT_EQ(result.figures.size(), 8U);
    for (const Row& row : result.rows) {
        if (row.method != "printed-dec" || !row.figure.starts_with("numbers_")) continue;
        const Row* predicted = find_row(result, row.figure, "predicted", "decentralized", row.x);
        ASSERT_NE(predicted, nullptr);
        EXPECT_EQ(row.y.mean, predicted->y.mean) << row.figure;
    }
    // Relative to the largest x.
    EXPECT_EQ(find_row(result, "work_I", "predicted", "star", 16)->y.mean, 1);
}

}  // namespace
}  // namespace couplet
