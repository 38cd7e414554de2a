#include "couplet/shield/masked_sums.hpp"

#include <gtest/gtest.h>

#include "couplet/consensus/graph_builders.hpp"
#include "couplet/core/error.hpp"

namespace couplet {
namespace {

std::vector<std::vector<std::uint64_t>> parts(std::size_t clients, std::size_t length) {
    std::vector<std::vector<std::uint64_t>> all;
    for (std::size_t k = 0; k < clients; ++k) {
        all.emplace_back(length);
        for (std::size_t i = 0; i < length; ++i) all.back()[i] = (k + 1) * i;
    }
    return all;
}

void expect_sum(const std::vector<std::uint64_t>& sum, std::size_t clients) {
    for (std::size_t i = 0; i < sum.size(); ++i) ASSERT_EQ(sum[i], clients * (clients + 1) / 2 * i);
}

TEST(StarSums, AddUpAgainAndAgain) {
    StarSums sums(6, {.min_cohort = 3, .colluders = 1}, 2);
    EXPECT_EQ(sums.threshold(), 4);
    expect_sum(sums.add(parts(6, 100), {1, Ring(40)}), 6);
    const double keys_and_one = sums.traffic().bytes_up;
    EXPECT_GT(keys_and_one, 6 * 500);
    EXPECT_EQ(sums.traffic().rounds, 4);
    expect_sum(sums.add(parts(6, 100), {1, Ring(40)}), 6);
    const double both = sums.traffic().bytes_up;
    EXPECT_LT(both - keys_and_one, keys_and_one) << "of the second sum the keys are there";
    EXPECT_EQ(sums.traffic().rounds, 6);
    expect_sum(sums.add(parts(6, 100), {1, Ring::modulo(100'003)}), 6);
    EXPECT_EQ(sums.traffic().rounds, 10) << "fresh keys";
}

TEST(StarSums, ANarrowRingIsFewerBytes) {
    StarSums narrow(3, {}, 1);
    StarSums wide(3, {}, 1);
    narrow.add(parts(3, 1000), {1, Ring(16)});
    wide.add(parts(3, 1000), {1, Ring(64)});
    EXPECT_EQ(wide.traffic().bytes_up - narrow.traffic().bytes_up, 3 * 6000);
}

TEST(StarSums, RefuseASmallCohort) {
    EXPECT_THROW(StarSums(2, {}, 1), InputError);
    try {
        StarSums(256, {}, 1);
        FAIL();
    } catch (const InputError& error) {
        EXPECT_NE(std::string(error.what()).find("3 to 255. A secret has no more shares"), std::string::npos);
    }
    EXPECT_THROW(StarSums(3, {.min_cohort = 3, .colluders = 3}, 1), InputError);
}

TEST(PeerSums, AddUpAlongTheTree) {
    for (const char* graph : {"complete", "ring", "path"}) {
        PeerSums sums(make_graph(graph, 8, 0), {});
        expect_sum(sums.add(parts(8, 50), {1, Ring(54)}), 8);
        EXPECT_GT(sums.traffic().bytes_up, 7 * 50 * 54 / 8);
    }
    EXPECT_THROW(PeerSums(make_graph("path", 2, 0), {}), InputError);
}

}  // namespace
}  // namespace couplet
