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
    // The paper's text has 74%, 54% and 98%, from its table.
    ASSERT_EQ(result.findings.size(), 10U);
    EXPECT_NE(result.findings[1].find("(the paper reports 74% less"), std::string::npos) << result.findings[1];
    EXPECT_NE(result.findings[3].find("(the paper reports 54% less"), std::string::npos) << result.findings[3];
    EXPECT_NE(result.findings[5].find("(the paper reports 98% less"), std::string::npos) << result.findings[5];
    EXPECT_EQ(result.findings[7].find("paper"), std::string::npos) << result.findings[7];
    for (const char* data : {"Diabetes", "ECG", "Synthetic, order 3"}) {
        EXPECT_LT(find_category(result, "rse", "printed-refit", data)->y.mean,
                  find_category(result, "rse", "printed-star", data)->y.mean)
            << data;
    }
}

}  // namespace
}  // namespace couplet
