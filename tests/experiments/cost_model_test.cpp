#include "couplet/experiments/cost_model.hpp"

namespace couplet {
namespace {

TEST(CostModelTest, HandComputedOrderThree) {
    // K = 2 clients of 5 patients, 3 x 4 features, R1 = 2, R2 = 3, L = 6.
    const CostCase c{2, 5, {3, 4}, {2, 3}, 6};
    EXPECT_EQ(star_numbers(c), 2 * 3 * 3 + 3 * 4);
    EXPECT_EQ(peers_numbers(c), 6 * 2 * 12);
    const double personal = 25 * 12;
    const double features = 6 * 6 * 4;
    // Products of G_2 and G_3: R1 R2 R3 I2 I3 = 2 * 3 * 1 * 12 for each client; mean 2 * 2 * 12.
    EXPECT_EQ(star_operations(c), 2 * (personal + features) + 2 * 2 * (3 * 12) + 2 * 2 * 12 + features);
    EXPECT_EQ(peers_operations(c), 2 * (personal + 6 * 2 * 2 * 12 + features));
}

TEST(CostModelTest, ThePapersTablesFollowThePeersFormula) {
    // Synthetic, R1 = 20, L = 3: 5.40e4; Diabetes, R1 = 50, L = 2: 4.80e4.
    EXPECT_EQ(peers_numbers({4, 50, {30, 30}, {20, 20}, 3}), 54000);
    EXPECT_EQ(peers_numbers({4, 250, {20, 24}, {50, 20}, 2}), 48000);
}

TEST(CostModelTest, OrderTwoHasNoFeatureBond) {
    const CostCase c{3, 4, {7}, {2}, 1};
    EXPECT_EQ(star_numbers(c), 14);
    EXPECT_EQ(star_operations(c), 3 * 16 * 7 + 3 * 2 * 7);
}

}  // namespace
}  // namespace couplet
