#include "experiment_test_support.hpp"

namespace couplet {
namespace {

class NodesTest : public testing::LabTest {};

TEST_F(NodesTest, HasEveryMethod) {
    put_all();
    const auto result = run("nodes");
    EXPECT_EQ(result.figures.size(), 4U);
    for (const char* method : {"ctt-star", "ctt-dec", "printed-star", "printed-dec", "centralized", "trip", "dpsgd",
                               "dpfact", "fedgtf-ef", "fedgtf-ef-pc", "cidertf"}) {
        EXPECT_NE(find_row(result, "rse_diabetes", method, "", 2), nullptr) << method;
    }
    EXPECT_EQ(result.findings.size(), 2U);
}

}  // namespace
}  // namespace couplet
