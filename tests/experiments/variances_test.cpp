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
    EXPECT_EQ(rows_of(result, "mode3").size(), 3U * 24U);
}

TEST_F(VariancesTest, WithoutItsDataItSaysWhatIsMissing) {
    Lab lab(tiny());
    const std::vector<std::string> names{"variances"};
    const ExperimentResult result = find_experiments(names).front()->run(lab);
    EXPECT_TRUE(result.rows.empty());
    ASSERT_EQ(result.absent.size(), 1U);
    EXPECT_NE(result.absent.front().find("Kaggle"), std::string::npos);
}

}  // namespace
}  // namespace couplet
