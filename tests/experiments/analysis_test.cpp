#include "experiment_test_support.hpp"

namespace couplet {
namespace {

class AnalysisTest : public testing::LabTest {};

TEST_F(AnalysisTest, PeersFollowTheFormula) {
    put_all();
    const auto result = run("analysis");
    EXPECT_EQ(result.figures.size(), 12U);
    for (const Row& row : result.rows) {
        if (row.method != "printed-dec" || !row.figure.starts_with("numbers_")) continue;
        const Row* predicted = find_row(result, row.figure, "predicted", "decentralized", row.x);
        ASSERT_NE(predicted, nullptr);
        EXPECT_EQ(row.y.mean, predicted->y.mean) << row.figure;
    }
}

TEST_F(AnalysisTest, OperationsAreCountedAndNotTimed) {
    put_all();
    const auto once = run("analysis");
    const auto again = run("analysis");
    for (const char* method : {"printed-star", "printed-dec", "ctt-star", "ctt-dec"}) {
        for (const char* figure : {"operations_K", "operations_R", "operations_I", "operations_L"}) {
            const Row* row = find_row(once, figure, method, "", 2);
            if (row == nullptr) continue;
            EXPECT_GT(row->y.mean, 0) << method;
            EXPECT_EQ(row->y.mean, find_row(again, figure, method, "", 2)->y.mean) << method << " " << figure;
        }
    }
    // Twice the iterations: another round of averages, the SVDs as before.
    const double one = find_row(once, "operations_L", "printed-dec", "", 1)->y.mean;
    const double two = find_row(once, "operations_L", "printed-dec", "", 2)->y.mean;
    // A node adds 3 operations a number for its neighbour and 2 for itself: R = 3, 16 x 16 features.
    EXPECT_EQ(two - one, 5 * 3 * 16 * 16);
}

}  // namespace
}  // namespace couplet
