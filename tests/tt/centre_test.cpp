#include "centre.hpp"

#include <gtest/gtest.h>

#include "matrices.hpp"

namespace couplet {
namespace {

using support::naive_distance;
using support::naive_product;
using support::orthonormal_columns;
using support::random_matrix;

std::vector<BondLimit> ranks(std::size_t bonds, Index rank) { return std::vector<BondLimit>(bonds, {0, rank}); }

TEST(Centre, LeavesModesOfSizeOneOut) {
    const std::vector<double> data(12, 1.0);
    const auto centre = start_centre(data.data(), {1, 3, 1, 4});
    EXPECT_EQ(centre.modes, (std::vector<Index>{3, 4}));
    EXPECT_EQ(centre.size(), 12);
    EXPECT_EQ(start_centre(data.data(), {1, 1}).modes, (std::vector<Index>{1}));
}

TEST(Centre, PeelsTheSmallerEnd) {
    const std::vector<double> data(40 * 50 * 30);
    const auto centre = start_centre(data.data(), {40, 50, 30});
    const End end = choose_end(centre, ranks(2, 4));
    EXPECT_EQ(end.side, Side::right);
    EXPECT_EQ(end.own, 30);
    EXPECT_EQ(end.count, 1U);
}

/// A pass over the data is worth it from twice the rank on: 2^4 = 16 >= 2 * 8.
TEST(Centre, GroupsTinyModes) {
    const std::vector<double> data(1 << 12);
    const auto centre = start_centre(data.data(), Shape(std::vector<Index>(12, 2)));
    const End end = choose_end(centre, ranks(11, 8));
    EXPECT_EQ(end.own, 16);
    EXPECT_EQ(end.count, 4U);
}

/// Past one block of 512, at both ends, from the caller's memory and then in place.
TEST(Centre, ProjectsFromACopyAndInPlace) {
    for (const Side side : {Side::left, Side::right}) {
        const Index own = 6;
        const Index other = 1100;
        const auto a = side == Side::left ? random_matrix<double>(own, other) : random_matrix<double>(other, own);
        auto centre = start_centre(a.data(), {a.rows(), a.cols()});
        const End end{side, 1, own};
        const auto v = orthonormal_columns(own, 4, 5);
        project(centre, end, v, {});
        const auto once = side == Side::left ? naive_product(v.view(), a.view(), Op::transpose, Op::none)
                                             : naive_product(a.view(), v.view(), Op::none, Op::none);
        ASSERT_EQ(centre.owned.size(), 4 * other);
        const auto seen = [&](Index rank) {
            return side == Side::left ? MatrixView<const double>(centre.data, rank, other)
                                      : MatrixView<const double>(centre.data, other, rank);
        };
        EXPECT_LE(naive_distance(seen(4), once.view()), 1e-12);
        centre.modes[side == Side::left ? 0 : 1] = 4;
        const auto w = orthonormal_columns(4, 3, 6);
        project(centre, End{side, 1, 4}, w, {});
        const auto twice = side == Side::left ? naive_product(w.view(), once.view(), Op::transpose, Op::none)
                                              : naive_product(once.view(), w.view(), Op::none, Op::none);
        EXPECT_LE(naive_distance(seen(3), twice.view()), 1e-12);
    }
}

TEST(Centre, RescalingTakesMemoryOfItsOwn) {
    const std::vector<double> data{1e-200, 3e-200};
    auto centre = start_centre(data.data(), {2, 1});
    rescale(centre, 600);
    EXPECT_DOUBLE_EQ(centre.data[1] / centre.data[0], 3.0);
    EXPECT_NE(centre.data, data.data());
    EXPECT_EQ(data[0], 1e-200);
}

}  // namespace
}  // namespace couplet
