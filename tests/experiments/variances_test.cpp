#include "experiment_test_support.hpp"

namespace couplet {
namespace {

class VariancesTest : public testing::LabTest {};

TEST_F(VariancesTest, PartsOfTheSum) {
    put_all();
    const auto result = run("variances");
    for (const char* figure : {"mode2", "mode3"}) {
        double sum = 0;
        for (const Row& row : rows_of(result, figure)) sum += row.method == "centralized" ? row.y.mean : 0;
        EXPECT_NEAR(sum, 1, 1e-9) << figure;
    }
    EXPECT_EQ(rows_of(result, "mode2").size(), 3U * 20U);
    ASSERT_EQ(result.findings.size(), 2U);
    EXPECT_NE(result.findings[0].find("HighBP (1, "), std::string::npos) << result.findings[0];
    EXPECT_EQ(rows_of(result, "mode3").size(), 3U * 24U);
}

TEST_F(VariancesTest, WithoutItsDataItSaysWhatIsMissing) { expect_absent("variances"); }

}  // namespace
}  // namespace couplet
