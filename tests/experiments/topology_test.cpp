#include "experiment_test_support.hpp"

namespace couplet {
namespace {

class TopologyTest : public testing::LabTest {};

TEST_F(TopologyTest, ExactConsensusForgetsTheGraph) {
    put_all();
    const auto result = run("topology");
    for (const char* graph : {"complete", "random:0.5", "grid", "ring", "path"}) {
        const Row* ours = find_category(result, "graphs_rse", "ctt-dec", graph);
        ASSERT_NE(ours, nullptr) << graph;
        // Exact consensus: the graph does not matter.
        EXPECT_NEAR(ours->y.mean, find_category(result, "graphs_rse", "ctt-dec", "complete")->y.mean, 1e-6) << graph;
    }
    // Fewer links send fewer numbers at the same L.
    EXPECT_LT(find_row(result, "numbers_total", "printed-dec", "S = 0.6, eq. M", 2)->y.mean,
              find_row(result, "numbers_total", "printed-dec", "S = 1, magic square", 2)->y.mean);
}

TEST_F(TopologyTest, WithoutItsDataItSaysWhatIsMissing) { expect_absent("topology"); }

}  // namespace
}  // namespace couplet
