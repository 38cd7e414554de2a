#include "couplet/secure/budget.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "couplet/core/error.hpp"
#include "couplet/core/random.hpp"
#include "couplet/ctt/refit.hpp"
#include "couplet/linalg/products.hpp"
#include "couplet/linalg/svd.hpp"
#include "couplet/secure/budget_site.hpp"

namespace couplet {
namespace {

/// Patients with a few of the labels of every mode: products of presences that come from a few groups.
Tensor<double> records(Index patients, const Shape& features, std::uint64_t seed) {
    Random population(7);
    constexpr Index groups = 12;
    std::vector<std::vector<double>> odds;  // of a label, by group and mode
    for (Index g = 0; g < groups; ++g) {
        for (const Index n : features.sizes()) {
            std::vector<double> own(static_cast<std::size_t>(n));
            for (double& one : own) one = population.uniform() < 0.2 ? 0.7 * population.uniform() : 0.03;
            odds.push_back(std::move(own));
        }
    }
    Random random(seed);
    std::vector<Index> sizes{patients};
    sizes.insert(sizes.end(), features.sizes().begin(), features.sizes().end());
    Tensor<double> x{Shape(sizes)};
    const auto rows = x.view().unfold(1);
    for (Index p = 0; p < patients; ++p) {
        const auto group = random.below(groups);
        std::vector<std::vector<double>> own;
        for (Index mode = 0; mode < features.order(); ++mode) {
            auto labels = odds[group * static_cast<std::size_t>(features.order()) + static_cast<std::size_t>(mode)];
            for (double& label : labels) label = random.uniform() < label ? 1 : 0;
            labels[random.below(labels.size())] = 1;
            own.push_back(std::move(labels));
        }
        for (Index j = 0; j < rows.cols; ++j) {
            const auto at = features.indices(j);
            double value = 1;
            for (std::size_t mode = 0; mode < own.size(); ++mode)
                value *= own[mode][static_cast<std::size_t>(at[mode])];
            rows(p, j) = value;
        }
    }
    return x;
}

double error_on(const Tensor<double>& x, const Features& features) {
    const auto fit = refit(x.view(), features);
    return fit.error2 / fit.norm2;
}

/// The best error of the rank on other patients, from all data without noise.
double best_error(const Tensor<double>& x, Index rank, const Tensor<double>& others) {
    SvdOptions options;
    options.max_rank = rank;
    const auto basis = dominant_basis<double>(x.view().unfold(1), Side::right, options);
    const auto kept = product<double>(others.view().unfold(1), basis.vectors.view());
    return 1 - squared_norm<double>(kept.view()) / squared_norm<double>(others.view().unfold(1));
}

/// The whole job over sites that have equal parts; sums go modulo the moduli, as masked ones do.
BudgetJob run(const Tensor<double>& x, const BudgetTerms& terms, std::uint64_t seed) {
    BudgetJob job(terms);
    const Index each = x.shape()[0] / terms.sites;
    std::uint64_t stream = 0;
    while (job.stage() != BudgetStage::done) {
        const auto& moduli = job.sum().moduli;
        std::vector<std::uint64_t> sum(moduli.size(), 0);
        for (Index k = 0; k < terms.sites; ++k) {
            auto noise = NoiseSource::repeatable(seed, stream++);
            const auto own = site_sum(job, x.view().rows(k * each, each), noise);
            for (std::size_t i = 0; i < sum.size(); ++i) {
                const auto modulus = static_cast<std::int64_t>(moduli[i]);
                const auto part = static_cast<std::uint64_t>((own[i] % modulus + modulus) % modulus);
                sum[i] = (sum[i] + part) % moduli[i];
            }
        }
        std::vector<std::int64_t> centred;
        for (std::size_t i = 0; i < sum.size(); ++i) {
            const bool negative = sum[i] > moduli[i] / 2;
            centred.push_back(static_cast<std::int64_t>(sum[i]) -
                              (negative ? static_cast<std::int64_t>(moduli[i]) : 0));
        }
        job.open(centred, terms.sites);
    }
    return job;
}

BudgetTerms terms_for(const Shape& features, Index rank, double mu) {
    return {.mu = mu, .sites = 4, .noisy_sites = 3, .features = features, .rank = rank};
}

TEST(Budget, IsCloseToAllDataInOnePlaceForOrdersTwoToFive) {
    for (const Shape& features : {Shape{60}, Shape{20, 16}, Shape{8, 7, 6}, Shape{5, 4, 4, 3}}) {
        const auto x = records(1600, features, 1);
        const auto others = records(400, features, 2);
        const BudgetJob job = run(x, terms_for(features, 6, 4), 3);
        EXPECT_EQ(job.features()->train.order(), features.order());
        const double best = best_error(x, 6, others);
        EXPECT_LT(error_on(others, *job.features()), 1.05 * best) << features.to_string();
        EXPECT_NEAR(job.patients(), 1600, 40);
    }
}

}  // namespace
}  // namespace couplet
