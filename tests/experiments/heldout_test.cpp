#include "experiment_test_support.hpp"

namespace couplet {
namespace {

class HeldoutTest : public testing::LabTest {};

TEST_F(HeldoutTest, EveryMethodIsScoredOnNewPeople) {
    put_all();
    const auto result = run("heldout");
    for (const char* data : {"Diabetes", "ECG", "Synthetic, order 3", "CMS records"}) {
        for (const char* method : {"ctt-star", "ctt-dec", "printed-star", "centralized", "local", "trip"}) {
            EXPECT_NE(find_category(result, "heldout", method, data), nullptr) << data << method;
            EXPECT_NE(find_category(result, "training", method, data), nullptr) << data << method;
        }
    }
    EXPECT_EQ(result.findings.size(), 4U);
}

}  // namespace
}  // namespace couplet
