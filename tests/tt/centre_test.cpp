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

TEST(Centre, GroupsAsManyTinyModesAsArePaidFor) {
    const std::vector<double> data(1 << 12);
    const auto grouped = [&](std::size_t modes, Index rank) {
        const auto centre = start_centre(data.data(), Shape(std::vector<Index>(modes, 2)));
        return choose_end(centre, ranks(modes - 1, rank));
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

TEST(Centre, EqualEndsArePeeledFromTheRight) {
    const std::vector<double> data(30 * 5 * 30);
    EXPECT_EQ(choose_end(start_centre(data.data(), {30, 5, 30}), ranks(2, 4)).side, Side::right);
    EXPECT_EQ(choose_end(start_centre(data.data(), {29, 5, 30}), ranks(2, 4)).side, Side::left);
}

TEST(Centre, LimitsAreCountedFromTheEnd) {
    const std::vector<double> data(2 * 3 * 4 * 5);
    auto centre = start_centre(data.data(), {2, 3, 4, 5});
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

/// Many parts and a last block of one row; float rounds each entry once, however long the sums are.
TEST(Centre, ProjectsFloatWithOneRounding) {
    for (const Side side : {Side::left, Side::right}) {
        for (const Index other : {1, 511, 512, 513, 8193}) {
            const Index own = 37;
            const auto a = convert<float>(
                (side == Side::left ? random_matrix<double>(own, other) : random_matrix<double>(other, own)).view());
            const auto v = orthonormal_columns(own, 5, 5);
            const auto wide = convert<double>(a.view());
            const auto exact = side == Side::left ? naive_product(v.view(), wide.view(), Op::transpose, Op::none)
                                                  : naive_product(wide.view(), v.view(), Op::none, Op::none);
            auto borrowed = start_centre(a.data(), {a.rows(), a.cols()});
            auto owning = start_centre(a.data(), {a.rows(), a.cols()});
            rescale(owning, 0);
            for (auto* centre : {&borrowed, &owning}) {
                if (centre->modes.size() < 2)
                    centre->modes.insert(side == Side::left ? centre->modes.end() : centre->modes.begin(), 1);
                centre->last = 2;
                project(*centre, End{side, 1, own}, v, {});
                for (Index i = 0; i < exact.size(); ++i) {
                    const double limit = 6.1e-8 * std::abs(exact.data()[i]) + 1e-13;
                    ASSERT_NEAR(static_cast<double>(centre->data[i]), exact.data()[i], limit) << other;
                }
            }
        }
    }
}

TEST(Centre, TellsWhatIsConsumedInSteps) {
    for (const Side side : {Side::left, Side::right}) {
        const Index own = 6;
        const Index other = 8192 + 100;
        const auto a = side == Side::left ? random_matrix<double>(own, other) : random_matrix<double>(other, own);
        for (const Index rank : {3, 4}) {
            auto centre = start_centre(a.data(), {a.rows(), a.cols()});
            std::vector<int> told(static_cast<std::size_t>(a.size()), 0);
            Index calls = 0;
            const auto v = orthonormal_columns(own, rank, 5);
            project(centre, End{side, 1, own}, v, [&](Index first, Index count) {
                ++calls;
                for (Index i = first; i < first + count; ++i) ++told[static_cast<std::size_t>(i)];
            });
            // Half as large as the centre, or less: nobody needs to let go of anything.
            EXPECT_EQ(calls, rank == 3 ? 0 : (side == Side::left ? 12 : 2));
            EXPECT_EQ(std::ranges::count(told, 1), rank == 3 ? 0 : a.size());
            const auto exact = side == Side::left ? naive_product(v.view(), a.view(), Op::transpose, Op::none)
                                                  : naive_product(a.view(), v.view(), Op::none, Op::none);
            const MatrixView<const double> found(centre.data, exact.rows(), exact.cols());
            EXPECT_LE(naive_distance(found, exact.view()), 1e-11);
        }
    }
}

}  // namespace
}  // namespace couplet
