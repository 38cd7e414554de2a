#include "experiment_test_support.hpp"

namespace couplet {
namespace {

class ComparisonTest : public testing::LabTest {};

TEST_F(ComparisonTest, OursIsCentralizedOnEveryDataSet) {
    put_all();
    const auto result = run("comparison");
    for (const char* data : {"Diabetes", "ECG", "Synthetic, order 3", "Synthetic, order 4", "CMS records"}) {
        const Row* ours = find_category(result, "rse", "ctt-star", data);
        const Row* all = find_category(result, "rse", "centralized", data);
        const Row* masked = find_category(result, "rse", "fedsvd", data);
        ASSERT_TRUE(ours && all && masked) << data;
        EXPECT_LE(ours->y.mean, 1.2 * all->y.mean + 1e-3) << data;
        EXPECT_NEAR(masked->y.mean, all->y.mean, 1e-6) << data;
        EXPECT_EQ(find_category(result, "rounds", "ctt-star", data)->y.mean, 2) << data;
    }
    EXPECT_EQ(find_category(result, "rse", "dpfact", "Synthetic, order 4"), nullptr);
}

}  // namespace
}  // namespace couplet
