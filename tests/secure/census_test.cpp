#include "couplet/secure/census.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "couplet/core/error.hpp"

namespace couplet {
namespace {

/// No two alike.
Tensor<double> patients(Index count, double norm) {
    auto x = Tensor<double>::zeros({count, 2});
    for (Index i = 0; i < count; ++i) {
        x.data()[2 * i] = norm * std::cos(static_cast<double>(i) / 400);
        x.data()[2 * i + 1] = norm * std::sin(static_cast<double>(i) / 400);
    }
    return x;
}

TEST(Census, SaysHowManyHowLargeAndHowLong) {
    std::vector<std::uint64_t> all(census_length, 0);
    for (const auto& x : {patients(7, 1), patients(40, 2), patients(1, 100)}) {
        const auto own = take_census(x.view());
        for (std::size_t i = 0; i < all.size(); ++i) all[i] += own[i];
    }
    const Census census = read_census(all, 0.9);
    EXPECT_EQ(census.patients, 48);
    EXPECT_GE(census.largest, 40);
    EXPECT_LE(census.largest, 43);
    EXPECT_GE(census.longest, 100);
    EXPECT_LE(census.longest, 110);
    EXPECT_GE(census.usual, 2);
    EXPECT_LE(census.usual, 2.2);
}

TEST(Census, SizesAreNeverUnderstated) {
    for (Index count = 1; count <= 400; ++count) {
        const Census census = read_census(take_census(patients(count, 1).view()), 0.9);
        EXPECT_GE(census.largest, count);
        EXPECT_LE(census.largest, census.patients);
    }
}

TEST(Census, EmptyRecordsAndCopiesAreNoPatients) {
    auto x = Tensor<double>::zeros({100, 2});
    for (Index i = 0; i < 6; ++i) x.data()[2 * i] = i < 3 ? 4 : 5;
    const Census census = read_census(take_census(x.view()), 0.9);
    EXPECT_EQ(census.patients, 2);
    EXPECT_EQ(census.records, 6);
    EXPECT_EQ(census.largest, 2);
    // Nine tenths of the records are empty, and still the others are clipped.
    EXPECT_GE(census.usual, 5);
    const Census none = read_census(take_census(Tensor<double>::zeros({100, 2}).view()), 0.9);
    EXPECT_EQ(none.patients, 0);
    EXPECT_EQ(none.usual, 0);
}

std::vector<std::uint64_t> counts_of(const std::vector<Index>& sizes) {
    std::vector<std::uint64_t> all(census_length, 0);
    for (const Index size : sizes) {
        const auto own = take_census(patients(size, 1).view());
        for (std::size_t i = 0; i < all.size(); ++i) all[i] += own[i];
    }
    return all;
}

TEST(Census, CountsHonestPatientsOfWhoeverMayRemain) {
    const Census uneven = read_census(counts_of({10, 400, 10, 10, 400, 10}), 0.9);
    ASSERT_EQ(uneven.clients.size(), 6U);
    EXPECT_EQ(fewest_honest(uneven, 6, 6, 0), 840);
    EXPECT_EQ(fewest_honest(uneven, 6, 4, 1), 30);
    EXPECT_LE(fewest_honest(uneven, 6, 6, 1), 440);
    EXPECT_GE(fewest_honest(uneven, 6, 6, 1), 400);
    // Two more on the roster whom nobody counted may be those that stay.
    EXPECT_EQ(fewest_honest(uneven, 8, 6, 1), 30);
    EXPECT_EQ(fewest_honest(uneven, 8, 2, 1), 0);
    EXPECT_EQ(fewest_honest(uneven, 6, 1, 5), 0);
    // Never more than there are, whatever the sizes; of equal sites nearly as many.
    for (Index size = 1; size <= 200; size += 7) {
        const Index honest = fewest_honest(read_census(counts_of({size, size, size, size}), 0.9), 4, 3, 1);
        EXPECT_LE(honest, 2 * size);
        EXPECT_GE(honest, 2 * (size * 9 / 10));
    }
}

TEST(Census, RefusesWhatClientsCannotCount) {
    auto more = take_census(patients(5, 1).view());
    more.back() = 6;
    EXPECT_THROW(read_census(more, 0.9), InputError);
    // A small client that claims many patients: its class gives it away.
    auto liar = counts_of({40, 40, 40});
    liar.back() += 1000;
    liar[0] += 1000;
    EXPECT_THROW(read_census(liar, 0.9), InputError);
    auto modest = counts_of({40, 40, 40});
    modest.back() = 60;
    EXPECT_THROW(read_census(modest, 0.9), InputError);

    EXPECT_THROW(read_census(std::vector<std::uint64_t>(5, 1), 0.9), InputError);
    EXPECT_THROW(read_census(std::vector<std::uint64_t>(census_length, ~std::uint64_t{0}), 0.9), InputError);
}

}  // namespace
}  // namespace couplet
