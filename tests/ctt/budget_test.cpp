#include "couplet/ctt/budget.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "couplet/consensus/graph_builders.hpp"
#include "couplet/core/error.hpp"

namespace couplet {
namespace {

TEST(BudgetTest, CentringIsPaidForEveryLink) {
    const CentringOptions both{true, true};
    const CentringTraffic each = centring_traffic(20, both);
    const auto cost = static_cast<Index>(std::ceil(each.bytes_up + each.bytes_down));
    std::optional<Index> bytes = 50'000;
    std::optional<Index> all;
    pay_for_centring(bytes, all, 20, both, {.all = 4, .at_one = 3});
    EXPECT_EQ(bytes, 50'000 - 3 * cost);
    EXPECT_FALSE(all);
    bytes.reset();
    all = 50'000;
    pay_for_centring(bytes, all, 20, both, {.all = 4, .at_one = 3});
    EXPECT_EQ(all, 50'000 - 4 * cost);
    pay_for_centring(bytes, all, 20, {}, {.all = 4, .at_one = 3});
    EXPECT_EQ(all, 50'000 - 4 * cost) << "nothing is centred";
    all = 4 * cost;
    try {
        pay_for_centring(bytes, all, 20, both, {.all = 4, .at_one = 3});
        FAIL() << "nothing would be left";
    } catch (const InputError& error) {
        EXPECT_EQ(error.parts().where, "`bytes_total`");
        EXPECT_EQ(error.parts().expected,
                  "more than the " + std::to_string(4 * cost) + " bytes of means and deviations");
    }
}

TEST(BudgetTest, AllLinksOfAStarAreAtItsHub) {
    const auto links = [](const char* name, Index nodes) {
        const Graph graph = make_graph(name, nodes, 0);
        return tree_links(graph.bfs_tree(graph.centre()));
    };
    EXPECT_EQ(links("star", 6).all, 5);
    EXPECT_EQ(links("star", 6).at_one, 5);
    EXPECT_EQ(links("path", 6).at_one, 2);
    EXPECT_EQ(links("star", 1).all, 0);
    EXPECT_EQ(links("star", 1).at_one, 0);
}

}  // namespace
}  // namespace couplet
