#include "experiment_test_support.hpp"

namespace couplet {
namespace {

class ScalabilityTest : public testing::LabTest {};

TEST_F(ScalabilityTest, FourDataSets) {
    put_all();
    const auto result = run("scalability");
    EXPECT_EQ(result.figures.size(), 12U);
    EXPECT_EQ(result.findings.size(), 4U);
}

}  // namespace
}  // namespace couplet
