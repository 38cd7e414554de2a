#include "r1_sweep.hpp"

#include "experiment_test_support.hpp"

namespace couplet {
namespace {

class R1SweepTest : public testing::LabTest {};

/// The printed numbers stand beside full-sized data, and what differs is explained.
TEST_F(R1SweepTest, ThePapersNumbersAreBesideOurs) {
    Lab lab({.seed = 1, .repeats = 1, .effort = Effort::quick, .data = folder_});
    const auto result = run_r1_sweep({.name = "r1_synthetic", .data = DataId::synthetic3, .ranks = {5, 10}}, lab);
    const Row* star = find_row(result, "rse", "printed-star", "", 10);
    ASSERT_NE(star, nullptr);
    EXPECT_EQ(star->paper, 0.1832);
    EXPECT_NEAR(star->y.mean, 0.19, 0.03);
    const Row* table = find_row(result, "rse_table", "printed-paper", "L = 1", 10);
    ASSERT_NE(table, nullptr);
    EXPECT_EQ(table->paper, 0.3587);
    EXPECT_NEAR(table->y.mean, 0.3587, 0.06);
    // The paper prints ten errors and ten numbers for two ranks.
    ASSERT_EQ(result.findings.size(), 2U);
    EXPECT_NE(result.findings[1].find("of 10 errors as printed"), std::string::npos) << result.findings[1];
    EXPECT_NE(result.findings[1].find("of 10 numbers of communication"), std::string::npos) << result.findings[1];
    for (const Row& row : result.rows) {
        const bool differs = row.paper && std::abs(row.y.mean / *row.paper - 1) > 0.1;
        EXPECT_EQ(differs, !row.note.empty()) << row.figure << " " << row.method << " " << row.variant;
    }
}

TEST_F(R1SweepTest, RepeatsAreOtherData) {
    Lab lab(tiny(3));
    const auto result = run_r1_sweep({.name = "x", .data = DataId::synthetic3, .clients = 3, .ranks = {3}}, lab);
    const Row* star = find_row(result, "rse", "printed-star", "", 3);
    ASSERT_NE(star, nullptr);
    EXPECT_EQ(star->y.count, 3);
    EXPECT_GT(star->y.sd, 0);
}

}  // namespace
}  // namespace couplet
