#include "experiment_test_support.hpp"

namespace couplet {
namespace {

class Eps1Test : public testing::LabTest {};

TEST_F(Eps1Test, PrecisionPaysOnlyForOurs) {
    put_all();
    const auto result = run("eps1");
    const Row* fine = find_row(result, "rse", "ctt-star", "K = 2", 0.05);
    const Row* coarse = find_row(result, "rse", "ctt-star", "K = 2", 0.7);
    ASSERT_TRUE(fine && coarse);
    EXPECT_LT(fine->y.mean, coarse->y.mean);
    EXPECT_EQ(result.findings.size(), 1U);
}

}  // namespace
}  // namespace couplet
