#include "experiment_test_support.hpp"

namespace couplet {
namespace {

class HeterogeneousTest : public testing::LabTest {};

TEST_F(HeterogeneousTest, AStackDoesNotNeedClientsThatAgree) {
    put_all();
    const auto result = run("heterogeneous");
    for (const char* scenario :
         {"alike", "sizes 1:2:4:8", "scales, tenfold each", "disjoint features", "flipped signs"}) {
        const Row* ours = find_category(result, "rse", "ctt-star", scenario);
        const Row* all = find_category(result, "rse", "centralized", scenario);
        ASSERT_TRUE(ours && all) << scenario;
        EXPECT_LE(ours->y.mean, 1.5 * all->y.mean + 1e-3) << scenario;
    }
    // A stack does not care about signs, an average does.
    EXPECT_NEAR(find_category(result, "rse", "ctt-star", "flipped signs")->y.mean,
                find_category(result, "rse", "ctt-star", "alike")->y.mean, 1e-3);
    EXPECT_GT(find_category(result, "rse", "printed-star", "flipped signs")->y.mean,
              find_category(result, "rse", "ctt-star", "flipped signs")->y.mean);
}

}  // namespace
}  // namespace couplet
