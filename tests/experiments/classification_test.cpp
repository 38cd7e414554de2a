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
    EXPECT_EQ(result.findings.size(), 2U);
    EXPECT_NE(find_row(result, "features", "centralized", "", 5), nullptr);
    EXPECT_NE(find_category(result, "personal", "majority", "always the same class"), nullptr);
}

TEST_F(ClassificationTest, WithoutItsDataItSaysWhatIsMissing) { expect_absent("classification"); }

}  // namespace
}  // namespace couplet
