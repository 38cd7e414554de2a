#include "centre.hpp"

#include <gtest/gtest.h>

#include "matrices.hpp"

namespace couplet {
namespace {

std::vector<BondLimit> ranks(std::size_t bonds, Index rank) { return std::vector<BondLimit>(bonds, {0, rank}); }

TEST(Centre, LeavesModesOfSizeOneOut) {
    const auto centre = start_centre({1, 3, 1, 4});
    EXPECT_EQ(centre.modes, (std::vector<Index>{3, 4}));
    EXPECT_EQ(centre.size(), 12);
    EXPECT_EQ(start_centre({1, 1}).modes, (std::vector<Index>{1}));
}

TEST(Centre, PeelsTheSmallerEnd) {
    const auto centre = start_centre({40, 50, 30});
    const End end = choose_end(centre, ranks(2, 4), Offered::both);
    EXPECT_EQ(end.side, Side::right);
    EXPECT_EQ(end.own, 30);
    EXPECT_EQ(end.count, 1U);
}

/// Peeling 50 first takes 45000 (50 + 40) + 18000 (30 + 40) flops, peeling 30 first 45000 (30 + 40) + 30000 (50 + 40).
TEST(Centre, BeginsWithTheEndThatIsCutMoreWhereThatIsCheaper) {
    EXPECT_EQ(choose_end(start_centre({50, 30, 30}), ranks(2, 20), Offered::both).side, Side::left);
    EXPECT_EQ(choose_end(start_centre({50, 30, 30}), ranks(2, 20), Offered::right).side, Side::right);
    EXPECT_EQ(choose_end(start_centre({50, 30, 30}), ranks(2, unlimited_rank), Offered::both).side, Side::right);
    EXPECT_EQ(choose_end(start_centre({1000, 60, 60}), ranks(2, 20), Offered::both).side, Side::right)
        << "an end so much larger pays even less";
}

/// The other way round takes 1197 flops instead of 1234 for an element, and an error that is 1% larger where spectra
/// decay.
TEST(Centre, KeepsTheUsualOrderWhereTheOtherSavesLittle) {
    EXPECT_EQ(choose_end(start_centre({1000, 110, 140}), ranks(2, 100), Offered::both).side, Side::left);
    EXPECT_EQ(choose_end(start_centre({30, 5, 30}), ranks(2, 4), Offered::both).side, Side::left);
}

/// A pass over the data is worth it from twice the rank on: 2^4 = 16 >= 2 * 8.
TEST(Centre, GroupsTinyModes) {
    const auto centre = start_centre(Shape(std::vector<Index>(12, 2)));
    const End end = choose_end(centre, ranks(11, 8), Offered::both);
    EXPECT_EQ(end.own, 16);
    EXPECT_EQ(end.count, 4U);
}

TEST(Centre, GroupsAsManyTinyModesAsArePaidFor) {
    const auto grouped = [&](std::size_t modes, Index rank) {
        const auto centre = start_centre(Shape(std::vector<Index>(modes, 2)));
        return choose_end(centre, ranks(modes - 1, rank), Offered::both);
    };
    EXPECT_EQ(grouped(12, 1).own, 16) << "at least 10";
    EXPECT_EQ(grouped(12, 5).own, 16) << "twice the rank is 10";
    EXPECT_EQ(grouped(12, 9).own, 32);
    EXPECT_EQ(grouped(12, unlimited_rank).own, 32) << "an unknown rank counts as 16";
    EXPECT_EQ(grouped(6, 8).own, 8) << "the group stays the short side: 8 of 64, not 16";
    EXPECT_EQ(grouped(6, 8).count, 3U);
    EXPECT_EQ(grouped(7, 8).own, 8) << "16 of 128 would be the long side";
    EXPECT_EQ(grouped(8, 8).own, 16) << "16 of 256 is a half of both";
    EXPECT_EQ(grouped(2, 8).own, 2) << "one mode must remain";
}

TEST(Centre, LimitsAreCountedFromTheEnd) {
    auto centre = start_centre({2, 3, 4, 5});
    const std::vector<BondLimit> limits{{0.1, 1}, {0.2, 2}, {0.3, 3}};
    EXPECT_EQ(limit_at(centre, limits, Side::left, 0).max_rank, 1);
    EXPECT_EQ(limit_at(centre, limits, Side::left, 1).max_rank, 2);
    EXPECT_EQ(limit_at(centre, limits, Side::right, 0).max_rank, 3);
    EXPECT_EQ(limit_at(centre, limits, Side::right, 1).max_rank, 2);
    centre.first = 1;
    centre.last = 3;
    EXPECT_EQ(limit_at(centre, limits, Side::left, 0).max_rank, 2);
    EXPECT_EQ(limit_at(centre, limits, Side::right, 0).max_rank, 2);
}

}  // namespace
}  // namespace couplet
