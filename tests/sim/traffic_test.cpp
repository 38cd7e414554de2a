#include "couplet/sim/traffic.hpp"

#include <gtest/gtest.h>

#include "couplet/sim/simulate.hpp"

namespace couplet {
namespace {

TEST(Traffic, CountsAStarPerClientAndInAll) {
    Traffic traffic;
    traffic.up(10);
    traffic.up(30);
    traffic.down(5, 2);
    SimulationResult result;
    traffic.store(result, 2);
    EXPECT_EQ(result.numbers_up_per_client, 20);
    EXPECT_EQ(result.numbers_down_per_client, 5);
    EXPECT_EQ(result.numbers_total, 50);
    EXPECT_EQ(result.bytes_up, serialised_bytes(10) + serialised_bytes(30));
    EXPECT_EQ(result.bytes_down, 2 * serialised_bytes(5));
    EXPECT_EQ(traffic.bytes(), result.bytes_up + result.bytes_down);
}

TEST(Traffic, PackedMessagesKeepTheirNumbersAndTheirEnvelope) {
    Traffic traffic;
    traffic.up_packed(80, 18);
    traffic.down_packed(80, 18, 3);
    EXPECT_EQ(traffic.numbers(), 4 * 80);
    EXPECT_EQ(traffic.bytes(), 4 * (serialised_bytes(0) + 18));
}

TEST(Traffic, PeersCountPerLink) {
    Traffic traffic;
    for (int message = 0; message < 6; ++message) traffic.up(7);
    SimulationResult result;
    traffic.store_links(result, 3);
    EXPECT_EQ(result.numbers_up_per_client, 14);
    EXPECT_EQ(result.numbers_down_per_client, 0);
    EXPECT_EQ(result.numbers_total, 42);
    EXPECT_EQ(result.bytes_up, 6 * serialised_bytes(7));
    EXPECT_EQ(result.bytes_down, 0);
}

TEST(Traffic, NoLinksSendNothing) {
    SimulationResult result;
    Traffic().store_links(result, 0);
    EXPECT_EQ(result.numbers_up_per_client, 0);
    EXPECT_EQ(result.numbers_total, 0);
}

}  // namespace
}  // namespace couplet
