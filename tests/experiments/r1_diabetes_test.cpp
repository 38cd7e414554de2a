#include "experiment_test_support.hpp"

namespace couplet {
namespace {

class R1DiabetesTest : public testing::LabTest {};

TEST_F(R1DiabetesTest, OursIsNeverWorseAndPeersSendTheFormula) {
    put_all();
    const auto result = run("r1_diabetes");
    EXPECT_EQ(result.figures[2].title, "Communication, K = 4");
    for (const double rank : {3.0, 6.0}) {
        const Row* ours = find_row(result, "rse", "ctt-star", "", rank);
        const Row* printed = find_row(result, "rse", "printed-star", "", rank);
        const Row* numbers = find_row(result, "numbers", "printed-dec", "L = 2", rank);
        ASSERT_TRUE(ours && printed && numbers);
        EXPECT_LE(ours->y.mean, printed->y.mean);
        EXPECT_EQ(numbers->y.mean, 2 * rank * 20 * 24);
    }
}

TEST_F(R1DiabetesTest, WithoutItsDataItSaysWhatIsMissing) { expect_absent("r1_diabetes"); }

}  // namespace
}  // namespace couplet
