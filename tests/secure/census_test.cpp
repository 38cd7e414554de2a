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

TEST(Census, RefusesWhatClientsCannotCount) {
    auto more = take_census(patients(5, 1).view());
    more.back() = 6;
    EXPECT_THROW(read_census(more, 0.9), InputError);

    EXPECT_THROW(read_census(std::vector<std::uint64_t>(5, 1), 0.9), InputError);
    EXPECT_THROW(read_census(std::vector<std::uint64_t>(census_length, ~std::uint64_t{0}), 0.9), InputError);
}

}  // namespace
}  // namespace couplet
