#include "couplet/consensus/traffic.hpp"

#include <limits>
#include <numeric>

#include "support.hpp"

namespace couplet {
namespace {

TEST(TrafficTest, GossipAgainstTreeOnThePapersGraph) {
    const ConsensusTraffic gossip = consensus_traffic(make_consensus_plan(paper8_graph()), 100);
    EXPECT_EQ(gossip.messages_total, 126);
    EXPECT_EQ(gossip.numbers_total, 12600);
    EXPECT_EQ(gossip.messages_per_node[3], 21);
    EXPECT_EQ(gossip.numbers_per_link, std::vector<Index>(9, 700));
    EXPECT_EQ(gossip.mean_numbers_per_link, 700);
    const ConsensusTraffic tree =
        consensus_traffic(make_consensus_plan(paper8_graph(), {.engine = ConsensusEngine::tree}), 100);
    EXPECT_EQ(tree.messages_total, 14);
    EXPECT_EQ(tree.numbers_total, 1400);
    EXPECT_EQ(tree.mean_numbers_per_link, 100);
}

TEST(TrafficTest, PaperCountsIterationsTimesLength) {
    const ConsensusPlan plan =
        make_consensus_plan(complete_graph(4), {.engine = ConsensusEngine::plain, .weights = "magic", .iterations = 3});
    EXPECT_EQ(consensus_traffic(plan, 20 * 900).mean_numbers_per_link, 3 * 20 * 900);
}

TEST(TrafficTest, NodesAndLinksAddUpToTheTotal) {
    for (Index nodes = 1; nodes <= 17; ++nodes) {
        for (const auto& [name, graph] : graphs_of(nodes)) {
            for (const auto engine : {ConsensusEngine::automatic, ConsensusEngine::tree}) {
                const ConsensusTraffic t = consensus_traffic(make_consensus_plan(graph, {.engine = engine}), 3);
                const auto sum = [](const std::vector<Index>& v) {
                    return std::accumulate(v.begin(), v.end(), Index{0});
                };
                EXPECT_EQ(sum(t.messages_per_node), t.messages_total) << name;
                EXPECT_EQ(sum(t.numbers_per_node), t.numbers_total) << name;
                EXPECT_EQ(2 * sum(t.messages_per_link), t.messages_total) << name;
                EXPECT_EQ(2 * sum(t.numbers_per_link), t.numbers_total) << name;
                if (engine == ConsensusEngine::tree) {
                    EXPECT_EQ(t.messages_total, 2 * (nodes - 1)) << name;
                }
            }
        }
    }
    EXPECT_THROW(consensus_traffic(make_consensus_plan(paper8_graph()), std::numeric_limits<Index>::max()), InputError);
}

}  // namespace
}  // namespace couplet
