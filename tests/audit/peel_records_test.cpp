#include "couplet/audit/peel_records.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "couplet/audit/recovery.hpp"
#include "couplet/core/error.hpp"
#include "couplet/linalg/products.hpp"
#include "record_rules.hpp"

namespace couplet {
namespace {

using testing::condition_drug_records;
using testing::scattered_records;

struct Released {
    Matrix<double> records;
    Matrix<double> strangers;
    ReleasedSums sums;
};

/// What a masked job of `directions` releases about the first `patients` records, clipped at norm `clip`.
Released release(const Matrix<double>& all, Index patients, Index directions, std::optional<double> clip,
                 double noise = 0) {
    Released r{Matrix<double>::copy(all.view().rows_from(0, patients)),
               Matrix<double>::copy(all.view().rows_from(patients, all.rows() - patients)),
               {}};
    const Index p = all.cols();
    Random random(31);
    r.sums.basis = Matrix<double>(p, directions);
    for (Index i = 0; i < r.sums.basis.size(); ++i) r.sums.basis.data()[i] = random.normal() / 40;
    auto clipped = Matrix<double>::copy(r.records.view());
    for (Index i = 0; i < patients; ++i) {
        const double norm = std::sqrt(squared_norm<double>(clipped.view().rows_from(i, 1)));
        for (Index j = 0; clip && norm > *clip && j < p; ++j) clipped(i, j) *= *clip / norm;
    }
    const auto within = product<double>(clipped.view(), r.sums.basis.view());
    r.sums.sums = product<double>(clipped.view(), within.view(), Op::transpose);
    constexpr double step = 0x1.0p-40;
    for (Index i = 0; i < r.sums.sums.size(); ++i) {
        double& value = r.sums.sums.data()[i];
        value = step * std::nearbyint((value + noise * random.normal()) / step);
    }
    r.sums.precision.assign(static_cast<std::size_t>(directions), 4 * step + noise);
    r.sums.clip = clip;
    return r;
}

Recovery peel(const Released& r, const Shape& features, const PeelOptions& options = {}) {
    return attack_exactly(peel_records(r.sums, features, options).view(), r.records.view(), r.strangers.view());
}

TEST(PeelRecords, RebuildsOuterProductsFromExactSums) {
    const auto r = release(condition_drug_records(240, 24, 24, 3), 80, 7, {});
    const auto found = peel(r, Shape({24, 24}));
    EXPECT_GE(found.recovered, 72) << "of " << found.patients;
    EXPECT_EQ(found.controls_recovered, 0);
}

TEST(PeelRecords, RebuildsClippedRecordsToo) {
    const auto all = condition_drug_records(240, 24, 24, 3);
    const auto r = release(all, 80, 7, std::sqrt(9.0));
    Index longer = 0;
    Index found = 0;
    const auto records = peel_records(r.sums, Shape({24, 24}));
    for (Index i = 0; i < 80; ++i) {
        const auto row = r.records.view().rows_from(i, 1);
        if (squared_norm<double>(row) <= 9) continue;
        ++longer;
        found += count_rebuilt(records.view(), row);
    }
    EXPECT_GE(longer, 8);
    EXPECT_GE(found, longer / 2) << "of " << longer;
}

TEST(PeelRecords, RebuildsRecordsThatAreNoProducts) {
    const auto found = peel(release(scattered_records(240, 300, 3), 40, 9, {}), Shape({300}));
    EXPECT_GE(found.recovered, 34) << "of " << found.patients;
    EXPECT_EQ(found.controls_recovered, 0);
}

TEST(PeelRecords, FindsNobodyUnderNoise) {
    const auto r = release(condition_drug_records(240, 24, 24, 3), 80, 7, {}, 0.3);
    EXPECT_EQ(peel(r, Shape({24, 24})).recovered, 0);
}

TEST(PeelRecords, FindsNobodyInDenseRecords) {
    Random random(4);
    Matrix<double> all(60, 300);
    for (Index i = 0; i < all.size(); ++i) all.data()[i] = random.normal();
    EXPECT_EQ(peel_records(release(all, 40, 7, {}).sums, Shape({300})).rows(), 0);
}

TEST(PeelRecords, EndsWhenTheWorkIsDone) {
    const auto r = release(condition_drug_records(240, 24, 24, 3), 80, 7, {});
    EXPECT_LT(peel(r, Shape({24, 24}), {.work = 100000}).recovered, 20);
}

TEST(PeelRecords, RefusesWhatDoesNotFit) {
    const auto r = release(condition_drug_records(60, 6, 6, 3), 20, 4, {});
    EXPECT_THROW(peel_records(r.sums, Shape({6, 7})), InputError);
    ReleasedSums other = {Matrix<double>::zeros(36, 4), Matrix<double>::zeros(36, 4), {1, 1}};
    EXPECT_THROW(peel_records(other, Shape({6, 6})), InputError);
    EXPECT_EQ(peel_records({Matrix<double>(36, 0), Matrix<double>(36, 0), {}}, Shape({6, 6})).rows(), 0);
}

}  // namespace
}  // namespace couplet
