#include "couplet/data/sample.hpp"

#include <set>

#include "data_test_support.hpp"

namespace couplet {
namespace {

TEST(Sample, PicksDifferentNumbersOnce) {
    const std::vector<Index> picked = sample_without_replacement(1000, 300, 5);
    EXPECT_EQ(picked.size(), 300u);
    const std::set<Index> distinct(picked.begin(), picked.end());
    EXPECT_EQ(distinct.size(), 300u);
    EXPECT_GE(*distinct.begin(), 0);
    EXPECT_LT(*distinct.rbegin(), 1000);
    EXPECT_TRUE(sample_without_replacement(7, 0, 1).empty());
    EXPECT_TRUE(sample_without_replacement(0, 0, 1).empty());
}

TEST(Sample, DependsOnTheSeedAlone) {
    EXPECT_EQ(sample_without_replacement(50, 20, 3), sample_without_replacement(50, 20, 3));
    EXPECT_NE(sample_without_replacement(50, 20, 3), sample_without_replacement(50, 20, 4));
}

TEST(Sample, FavoursNoNumberAndNoPlace) {
    // 4000 draws of 2 of 5: every number is expected 800 times in each place, with deviation 25.
    std::vector<std::vector<int>> seen(2, std::vector<int>(5, 0));
    for (std::uint64_t seed = 0; seed < 4000; ++seed) {
        const std::vector<Index> picked = sample_without_replacement(5, 2, seed);
        for (std::size_t place = 0; place < 2; ++place) ++seen[place][static_cast<std::size_t>(picked[place])];
    }
    for (const auto& place : seen) {
        for (const int times : place) EXPECT_NEAR(times, 800, 6 * 25);
    }
}

TEST(Sample, RefusesMoreThanThereAre) {
    EXPECT_EQ(testing::refusal([] { sample_without_replacement(3, 4, 0); }), "count: 4; expected a number from 0 to 3");
    EXPECT_EQ(testing::refusal([] { sample_without_replacement(3, -1, 0); }),
              "count: -1; expected a number from 0 to 3");
}

}  // namespace
}  // namespace couplet
