#include "couplet/audit/rare_rows.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "couplet/audit/recovery.hpp"
#include "couplet/linalg/products.hpp"
#include "record_rules.hpp"

namespace couplet {
namespace {

/// Records whose cells are counts: no lattice of zeros and ones solves for them.
Matrix<double> counted_records(Index patients, Index features, std::uint64_t seed) {
    auto all = testing::scattered_records(patients, features, seed);
    Random random(seed, 6);
    for (Index i = 0; i < all.size(); ++i) {
        if (all.data()[i] != 0) all.data()[i] = 1 + 0.5 * random.uniform();
    }
    return all;
}

ReleasedSums release(MatrixView<const double> records, Index directions, double noise) {
    Random random(31);
    ReleasedSums sums{Matrix<double>(records.cols, directions), {}, {}};
    for (Index i = 0; i < sums.basis.size(); ++i) sums.basis.data()[i] = random.normal();
    const auto within = product<double>(records, sums.basis.view());
    sums.sums = product<double>(records, within.view(), Op::transpose);
    for (Index i = 0; i < sums.sums.size(); ++i) sums.sums.data()[i] += noise * random.normal();
    sums.precision.assign(static_cast<std::size_t>(directions), noise + 1e-12);
    return sums;
}

Recovery attacked(Index directions, double noise) {
    const auto all = counted_records(260, 400, 8);
    const auto patients = all.view().rows_from(0, 60);
    const auto guesses = rare_rows(release(patients, directions, noise));
    return attack_recovery(guesses.view(), patients, all.view().rows_from(60, 200));
}

TEST(RareRows, ShowRecordsThatHaveAFeatureAlone) {
    const auto found = attacked(40, 0);
    EXPECT_GE(found.recovered, 20) << "of " << found.patients;
    EXPECT_TRUE(found.exceeds_control()) << found.controls_recovered << " of " << found.controls;
}

TEST(RareRows, ToleratesSomeNoiseAndNotMuch) {
    EXPECT_GE(attacked(40, 0.3).recovered, 10);
    const auto covered = attacked(40, 100);
    EXPECT_FALSE(covered.exceeds_control()) << covered.recovered << " and " << covered.controls_recovered;
}

TEST(RareRows, TriesAsManyRowsAsTheWorkAllows) {
    const auto all = counted_records(60, 100, 8);
    const auto sums = release(all.view(), 10, 0);
    // Three strengths, a fit and its cells for each row.
    EXPECT_EQ(rare_rows(sums, {.work = 2.1 * 4 * 100 * 3 * 10 * 100}).rows(), 12);
    EXPECT_EQ(rare_rows({Matrix<double>(9, 0), Matrix<double>(9, 0), {}}).rows(), 0);
    EXPECT_EQ(rare_rows({Matrix<double>::zeros(9, 2), Matrix<double>::zeros(9, 2), {1, 1}}).rows(), 0);
}

}  // namespace
}  // namespace couplet
