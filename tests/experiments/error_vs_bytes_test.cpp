#include "experiment_test_support.hpp"

namespace couplet {
namespace {

class ErrorVsBytesTest : public testing::LabTest {};

TEST_F(ErrorVsBytesTest, EveryDataSetHasItsCurve) {
    put_all();
    const auto result = run("error_vs_bytes");
    EXPECT_EQ(result.figures.size(), 3U);
    double least = 1;
    for (const Row& row : rows_of(result, result.figures.front().id)) {
        EXPECT_GT(row.x, 0);
        if (row.method == "ctt-star") least = std::min(least, row.y.mean);
    }
    EXPECT_LT(least, 0.5);
    EXPECT_EQ(result.findings.size(), 3U);
    EXPECT_TRUE(std::any_of(result.rows.begin(), result.rows.end(), [](const Row& r) { return r.method == "fedsvd"; }));
}

}  // namespace
}  // namespace couplet
