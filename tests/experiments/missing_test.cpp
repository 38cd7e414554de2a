#include "experiment_test_support.hpp"

namespace couplet {
namespace {

class MissingTest : public testing::LabTest {};

TEST_F(MissingTest, ImputationBeatsZeros) {
    put_all();
    const auto result = run("missing");
    EXPECT_EQ(result.figures.size(), 6U);
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
