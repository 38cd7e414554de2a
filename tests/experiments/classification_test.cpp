#include "experiment_test_support.hpp"

namespace couplet {
namespace {

class ClassificationTest : public testing::LabTest {};

TEST_F(ClassificationTest, AccuraciesAreParts) {
    put_all();
    const auto result = run("classification");
    for (const Row& row : result.rows) {
        EXPECT_GE(row.y.mean, 0);
        EXPECT_LE(row.y.mean, 1);
    }
    EXPECT_NE(find_row(result, "clients", "ctt-star", "test", 2), nullptr);
    EXPECT_NE(find_row(result, "features", "centralized", "", 5), nullptr);
    EXPECT_NE(find_category(result, "personal", "majority", "always the same class"), nullptr);
}

TEST_F(ClassificationTest, WithoutItsDataItSaysWhatIsMissing) {
    Lab lab(tiny());
    const std::vector<std::string> names{"classification"};
    const ExperimentResult result = find_experiments(names).front()->run(lab);
    EXPECT_TRUE(result.rows.empty());
    ASSERT_EQ(result.absent.size(), 1U);
    EXPECT_NE(result.absent.front().find("Kaggle"), std::string::npos);
}

}  // namespace
}  // namespace couplet
