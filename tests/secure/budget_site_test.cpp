#include "couplet/secure/budget_site.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "couplet/core/error.hpp"
#include "couplet/core/random.hpp"
#include "couplet/linalg/products.hpp"
#include "couplet/privacy/clip.hpp"
#include "couplet/privacy/gaussian.hpp"

namespace couplet {
namespace {

Tensor<double> records(Index patients, std::uint64_t seed) {
    Random random(seed);
    Tensor<double> x({patients, 5, 4});
    for (double& one : x.elements()) one = 3 * random.normal();
    return x;
}

BudgetJob job_at(BudgetStage stage, double mu, std::optional<double> clip = 10.0) {
    BudgetJob job({.mu = mu, .clip = clip, .sites = 3, .noisy_sites = 2, .features = {5, 4}, .rank = 3});
    const auto x = records(500, 1);
    auto noise = NoiseSource::repeatable(1, 1);
    while (job.stage() != stage) job.open(site_sum(job, x.view(), noise), 1);
    return job;
}

TEST(UnitRecords, AreAtMostOneLong) {
    const auto x = records(50, 2);
    const double clip = quantile(row_norms(x.view()), 0.5);
    const auto short_ones = row_norms(unit_records(x.view(), clip).view());
    const auto norms = row_norms(x.view());
    for (std::size_t i = 0; i < norms.size(); ++i) {
        EXPECT_NEAR(short_ones[i], std::min(1.0, norms[i] / clip), 1e-12);
    }
}

/// One record more changes every sum by no more than its noise was made for, whatever the record is.
TEST(SiteSum, OneRecordChangesItByNoMoreThanPromised) {
    for (const auto stage : {BudgetStage::counts, BudgetStage::modes, BudgetStage::core, BudgetStage::error}) {
        const BudgetJob job = job_at(stage, 100, stage == BudgetStage::counts ? std::nullopt : std::optional(10.0));
        const auto x = records(40, 3);
        auto more = records(41, 4);
        std::copy(x.elements().begin(), x.elements().end(), more.data());
        for (const double size : {1e-3, 1.0, 1e6}) {
            for (Index j = 0; j < 20; ++j) more.data()[40 * 20 + j] = size * std::cos(static_cast<double>(j));
            // The same stream: rounding and noise are the same in both.
            auto one = NoiseSource::repeatable(5, 6);
            auto other = NoiseSource::repeatable(5, 6);
            const auto with = site_sum(job, more.view(), one);
            const auto without = site_sum(job, x.view(), other);
            double squares = 0;
            for (std::size_t i = 0; i < with.size(); ++i) {
                squares += static_cast<double>((with[i] - without[i]) * (with[i] - without[i]));
            }
            const double mu = 100 * std::sqrt(job.split().part(stage));
            const double sigma = std::sqrt(2 * static_cast<double>(job.sum().variance));  // two shares are enough
            EXPECT_LE(std::sqrt(squares) / sigma, mu) << to_string(stage) << " " << size;
            if (size > 1) EXPECT_GT(std::sqrt(squares) / sigma, 0.3 * mu) << to_string(stage);
        }
    }
}

TEST(SiteSum, HasItsShareOfTheNoise) {
    const BudgetJob job = job_at(BudgetStage::core, 4);
    const auto x = records(40, 3);
    auto source = NoiseSource::repeatable(7, 8);
    double squares = 0;
    constexpr int trials = 400;
    for (int trial = 0; trial < trials; ++trial) {
        const auto a = site_sum(job, x.view(), source);
        const auto b = site_sum(job, x.view(), source);
        for (std::size_t i = 0; i < a.size(); ++i) squares += static_cast<double>((a[i] - b[i]) * (a[i] - b[i]));
    }
    const double each = squares / trials / static_cast<double>(job.length()) / 2;
    EXPECT_NEAR(each / static_cast<double>(job.sum().variance), 1, 0.05);
}

TEST(SiteSum, DoesNotDependOnTheBlocksOrTheUnit) {
    const auto x = records(60, 5);
    const BudgetJob job = job_at(BudgetStage::modes, 4);
    auto scaled = Tensor<double>::copy(x.view());
    for (double& one : scaled.elements()) one *= 0x1p200;
    BudgetJob large({.mu = 4, .clip = 10 * 0x1p200, .sites = 3, .noisy_sites = 2, .features = {5, 4}, .rank = 3});
    auto counting = NoiseSource::repeatable(1, 1);
    const auto all = records(500, 1);
    large.open(site_sum(large, all.view(), counting), 1);
    auto one = NoiseSource::repeatable(5, 6);
    auto other = NoiseSource::repeatable(5, 6);
    EXPECT_EQ(site_sum(job, x.view(), one), site_sum(large, scaled.view(), other));
}

TEST(SiteSum, RefusesOtherFeaturesMissingEntriesAndAJobThatIsDone) {
    auto noise = NoiseSource::repeatable(1, 1);
    const BudgetJob job = job_at(BudgetStage::modes, 4);
    EXPECT_THROW(site_sum(job, Tensor<double>::zeros({3, 4, 5}).view(), noise), InputError);
    auto missing = records(3, 1);
    missing.data()[7] = std::numeric_limits<double>::quiet_NaN();
    EXPECT_THROW(site_sum(job, missing.view(), noise), InputError);
    EXPECT_THROW(site_sum(job_at(BudgetStage::done, 4), records(3, 1).view(), noise), InputError);
}

}  // namespace
}  // namespace couplet
