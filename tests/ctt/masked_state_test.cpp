#include "couplet/ctt/masked_state.hpp"

#include <gtest/gtest.h>

#include "couplet/core/error.hpp"
#include "couplet/core/random.hpp"

namespace couplet {
namespace {

TEST(MaskedState, AddsUpExactlyOverAsManyNodesAsThereCanBe) {
    Random random(3, 0);
    for (const Index nodes : {1, 3, 7, 255}) {
        for (const int bits : {64, 51, 33, 32, 20}) {
            const std::uint64_t mask = bits == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1;
            std::vector<std::uint64_t> expected(50, 0);
            std::vector<double> average(100, 0.0);
            for (Index k = 0; k < nodes; ++k) {
                std::vector<std::uint64_t> own(50);
                for (std::uint64_t& value : own) value = random.below(~std::uint64_t{0}) & mask;
                own.front() = mask;
                const auto state = release_masked(own);
                for (std::size_t i = 0; i < own.size(); ++i) expected[i] = (expected[i] + own[i]) & mask;
                for (std::size_t i = 0; i < average.size(); ++i) average[i] += state.get()[i];
            }
            for (double& value : average) value /= static_cast<double>(nodes);
            EXPECT_EQ(sum_of_masked(average, nodes, mask), expected) << nodes << " nodes, " << bits << " bits";
        }
    }
}

TEST(MaskedState, WhatNobodySentIsRefused) {
    constexpr std::uint64_t all = ~std::uint64_t{0};
    EXPECT_THROW(sum_of_masked(std::vector<double>{0.25, 1}, 3, all), InputError);
    EXPECT_THROW(sum_of_masked(std::vector<double>{-1, 1}, 3, all), InputError);
    EXPECT_THROW(sum_of_masked(std::vector<double>{0x1.0p33, 1}, 3, all), InputError);
    EXPECT_THROW(sum_of_masked(std::vector<double>{1, 1, 1}, 3, all), InputError);
    EXPECT_EQ(sum_of_masked(std::vector<double>{1.0 / 3, 1}, 3, all), (std::vector<std::uint64_t>{1 + (3ULL << 32)}));
}

}  // namespace
}  // namespace couplet
