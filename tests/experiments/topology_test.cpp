#include "couplet/experiments/federate.hpp"
#include "couplet/experiments/scale.hpp"
#include "experiment_test_support.hpp"

namespace couplet {
namespace {

class TopologyTest : public testing::LabTest {};

TEST_F(TopologyTest, MergingAlongATreeForgetsTheGraph) {
    put_all();
    const auto result = run("topology");
    for (const char* graph : {"complete", "random:0.5", "grid", "ring", "path"}) {
        const Row* ours = find_category(result, "graphs_rse", "ctt-dec", graph);
        ASSERT_NE(ours, nullptr) << graph;
        // Longer trees round more often, each time to a share of eps1^2 = 1e-4.
        EXPECT_NEAR(ours->y.mean, find_category(result, "graphs_rse", "ctt-dec", "complete")->y.mean, 1e-4) << graph;
    }
    // Fewer links send fewer numbers at the same L.
    EXPECT_LT(find_row(result, "numbers_total", "printed-dec", "S = 0.6, eq. M", 2)->y.mean,
              find_row(result, "numbers_total", "printed-dec", "S = 1, magic square", 2)->y.mean);
}

TEST_F(TopologyTest, WithoutItsDataItSaysWhatIsMissing) { expect_absent("topology"); }

TEST_F(TopologyTest, RowsAreTheFederationsTheyName) {
    put_all();
    const auto result = run("topology");
    const auto source = clients(DataId::diabetes, 4);
    struct Case {
        const char* variant;
        const char* graph;
        const char* weights;
    };
    for (const auto& [variant, graph, weights] :
         {Case{"S = 1, magic square", "complete", "magic"}, Case{"S = 0.6, eq. M", "random:0.6", "paper"}}) {
        for (const Index l : {1, 2}) {
            JobOptions job = testing::printed_peers_job(6, l, graph, weights);
            job.seed = 3;
            const auto one = simulate(source, {.job = job});
            const auto x = static_cast<double>(l);
            EXPECT_EQ(at(result, "rse", "printed-dec", variant, x), one.rse) << variant;
            EXPECT_EQ(at(result, "rse_table", "printed-paper", variant, x), table_rse(source, job)) << variant;
            EXPECT_EQ(at(result, "numbers_total", "printed-dec", variant, x), one.numbers_total) << variant;
        }
    }
    const auto expect = [&](const char* method, const std::string& category, JobOptions job) {
        job.seed = 3;
        const auto one = simulate(source, {.job = job});
        EXPECT_EQ(dot(result, "graphs_rse", method, category), one.rse) << method << category;
        EXPECT_EQ(dot(result, "graphs_numbers", method, category), one.numbers_total) << method << category;
    };
    expect("printed-star", "star", testing::printed_star_job(6));
    expect("ctt-star", "star", testing::couplet_star_job(6));
    for (const std::string graph : {"complete", "random:0.5", "grid", "ring", "path"}) {
        expect("printed-dec", graph, testing::printed_peers_job(6, 3, graph, graph == "complete" ? "magic" : "paper"));
        expect("ctt-dec", graph, testing::couplet_peers_job(6, graph));
    }
    ASSERT_EQ(result.findings.size(), 3U);
    const double ring = dot(result, "graphs_numbers", "ctt-dec", "ring");
    expect_said(result.findings[0], "(" + short_number(dot(result, "graphs_rse", "ctt-dec", "complete")) +
                                        " on a complete one, " +
                                        short_number(dot(result, "graphs_rse", "ctt-dec", "ring")) + " on a ring)");
    expect_said(result.findings[0], "the ring sends " +
                                        short_number(ring / dot(result, "graphs_numbers", "ctt-dec", "complete")) +
                                        " times the numbers");
    const auto text = [&](const char* figure, const char* method, double l) {
        return short_number(at(result, figure, method, "S = 0.6, eq. M", l));
    };
    expect_said(result.findings[1], "goes from " + text("rse", "printed-dec", 1) + " at L = 1 to " +
                                        text("rse", "printed-dec", 2) + " at L = 2");
    expect_said(result.findings[1], "it goes from " + text("rse_table", "printed-paper", 1) + " to " +
                                        text("rse_table", "printed-paper", 2));
    expect_said(result.findings[2],
                "on a ring Couplet sends " + short_number(ring / dot(result, "graphs_numbers", "printed-dec", "ring")));
}

}  // namespace
}  // namespace couplet
