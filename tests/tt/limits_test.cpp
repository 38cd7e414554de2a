#include "limits.hpp"

#include <gtest/gtest.h>

#include "matrices.hpp"

namespace couplet {
namespace {

using support::message_of;

TEST(Limits, EpsIsSharedByBondsBetweenModesLargerThanOne) {
    const auto limits = bond_limits({.eps = 0.3, .max_rank = 7}, {4, 1, 5, 6});
    ASSERT_EQ(limits.size(), 3U);
    for (const auto& bond : limits) {
        EXPECT_DOUBLE_EQ(bond.eps, 0.3 / std::sqrt(2.0));
        EXPECT_EQ(bond.max_rank, 7);
    }
}

TEST(Limits, SqueezedBondsTakeTheTightestOfThoseTheyStandFor) {
    const Shape shape{1, 4, 1, 1, 5, 1};
    const std::vector<BondLimit> all{{0.5, 1}, {0.1, 9}, {0.3, 2}, {0.2, 8}, {0.01, 1}};
    const auto squeezed = squeezed_limits(shape, all);
    ASSERT_EQ(squeezed.size(), 1U);
    EXPECT_EQ(squeezed[0].eps, 0.1);
    EXPECT_EQ(squeezed[0].max_rank, 2);
}

TEST(Limits, RefusesWhatMeansNothing) {
    EXPECT_EQ(message_of([] { bond_limits({.bonds = {{0.1, 3}}}, {2, 3, 4}); }), "bonds: 1 limits; expected 2");
    EXPECT_NE(message_of([] { bond_limits({.eps = 1}, {2, 3}); }).find("0 <= eps < 1"), std::string::npos);
    EXPECT_NE(message_of([] { bond_limits({.bonds = {{0.1, 0}}}, {2, 3}); }).find("at least 1"), std::string::npos);
    EXPECT_NE(message_of([] { check_tensor({2, 0}); }).find("mode 2"), std::string::npos);
    EXPECT_NE(message_of([] {
                  check_method({.eps = 1e-9, .method = SvdMethod::gram}, {4, 4});
              }).find("auto or qr"),
              std::string::npos);
}

TEST(Limits, FloatsOfATightBoundAreComputedInDouble) {
    EXPECT_TRUE(needs_double({.eps = 1e-6}, {4, 4}));
    EXPECT_FALSE(needs_double({.eps = 1e-3}, {4, 4}));
    EXPECT_FALSE(needs_double({.eps = 0, .max_rank = 3}, {4, 4}));
}

TEST(Limits, TheValuesAtWhichADecisionTurns) {
    EXPECT_FALSE(needs_double({.eps = 1e-5}, {4, 4}));
    EXPECT_TRUE(needs_double({.eps = 0.99e-5}, {4, 4}));
    // The smallest of all bonds, and of several modes each bond's share, count; a bond without a limit does not.
    EXPECT_TRUE(needs_double({.eps = 1.4e-5}, {4, 4, 4}));
    EXPECT_FALSE(needs_double({.eps = 1.5e-5}, {4, 4, 4}));
    EXPECT_TRUE(needs_double({.bonds = {{.eps = 0.1}, {.eps = 1e-6}}}, {4, 4, 4}));
    EXPECT_FALSE(needs_double({.bonds = {{.eps = 0.1}, {.eps = 0}}}, {4, 4, 4}));
    const auto gram = [](double eps) {
        return message_of([&] { check_method({.eps = eps, .method = SvdMethod::gram}, {4, 4}); });
    };
    EXPECT_EQ(gram(1e-6), "");
    EXPECT_EQ(gram(0), "");
    EXPECT_NE(gram(0.99e-6), "");
    EXPECT_EQ(message_of([] { check_method({.eps = 1e-9, .method = SvdMethod::qr}, {4, 4}); }), "");
    EXPECT_EQ(message_of([] { bond_limits({.eps = 0, .max_rank = 1}, {2, 3}); }), "");
    EXPECT_EQ(bond_limits({.eps = 0.3}, {1, 1, 4}).front().eps, 0.3) << "one mode has no bond to share with";
    EXPECT_EQ(bond_limits({.eps = 0.3}, Shape{4}).size(), 0U);
    EXPECT_EQ(message_of([] { check_tensor(Shape(std::vector<Index>{})); }),
              "tensor: order 0; expected at least one mode");
}

TEST(Limits, SqueezedBondsKeepTheirOrder) {
    const Shape shape{3, 1, 4, 5, 1};
    const std::vector<BondLimit> all{{0.5, 5}, {0.4, 6}, {0.3, 7}, {0.01, 1}};
    const auto squeezed = squeezed_limits(shape, all);
    ASSERT_EQ(squeezed.size(), 2U);
    EXPECT_EQ(squeezed[0].eps, 0.4);
    EXPECT_EQ(squeezed[0].max_rank, 5);
    EXPECT_EQ(squeezed[1].eps, 0.3);
    EXPECT_EQ(squeezed[1].max_rank, 7);
}

}  // namespace
}  // namespace couplet
