#include "experiment_test_support.hpp"

namespace couplet {
namespace {

class MissingTest : public testing::LabTest {};

TEST_F(MissingTest, ImputationBeatsZeros) {
    put_all();
    const auto result = run("missing");
    EXPECT_EQ(result.figures.size(), 10U);
    EXPECT_GE(find_row(result, "federations_order3", "ctt-star", "imputed", 30)->y.mean, 1);
    EXPECT_LT(find_row(result, "zeroed_ours_order3", "ctt-star", "30% zero", 2)->y.mean,
              find_row(result, "zeroed_order3", "printed-star", "30% zero", 2)->y.mean);
    const Row* zeros = find_row(result, "hidden_order3", "ctt-star", "zeros", 30);
    const Row* imputed = find_row(result, "hidden_order3", "ctt-star", "imputed", 30);
    ASSERT_TRUE(zeros && imputed);
    EXPECT_LT(imputed->y.mean, zeros->y.mean);
    // Without holes both are the federation itself.
    EXPECT_NEAR(find_row(result, "truth_order3", "ctt-star", "zeros", 0)->y.mean,
                find_row(result, "truth_order3", "ctt-star", "imputed", 0)->y.mean, 1e-9);
}

}  // namespace
}  // namespace couplet
