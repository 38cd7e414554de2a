#include "couplet/secure/budget.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <utility>
#include <vector>

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

/// Of records shortened to the clip, at the features that everybody got: the truth lies in the interval.
TEST(Budget, StatesAnErrorWhoseIntervalHoldsTheTruth) {
    const Shape features{12, 10};
    const auto x = records(400, features, 1);
    for (const double mu : {0.5, 4.0, 1000.0}) {
        int held = 0;
        double width = 0;
        for (std::uint64_t seed = 0; seed < 20; ++seed) {
            const BudgetJob job = run(x, terms_for(features, 5, mu), seed);
            const auto clipped = unit_records(x.view(), job.clip());
            const double truth = error_on(clipped, *job.features());
            held += truth >= job.error()->low && truth <= job.error()->high;
            width += job.error()->high - job.error()->low;
        }
        EXPECT_GE(held, 18) << mu;  // 19 of 20 are expected
        EXPECT_LT(width / 20, mu < 1 ? 1 : mu < 100 ? 0.2 : 0.01) << mu;
    }
}

TEST(Budget, ErrorsFallWithMu) {
    const Shape features{16, 12};
    const auto x = records(800, features, 1);
    const auto others = records(400, features, 2);
    double last = 1;
    for (const double mu : {0.1, 1.0, 4.0, 1000.0}) {
        double mean = 0;
        for (std::uint64_t seed = 0; seed < 3; ++seed) {
            mean += error_on(others, *run(x, terms_for(features, 6, mu), seed).features()) / 3;
        }
        EXPECT_LT(mean, last + 0.005) << mu;
        last = mean;
    }
    EXPECT_LT(last, 1.03 * best_error(x, 6, others));
}

/// A sum that is of fewer sites than the one before protects and works as well.
TEST(Budget, SitesMayLeaveBetweenSums) {
    const Shape features{12, 10};
    const auto x = records(1600, features, 1);
    auto terms = terms_for(features, 5, 8);
    terms.noisy_sites = 2;
    BudgetJob job(terms);
    std::uint64_t stream = 0;
    while (job.stage() != BudgetStage::done) {
        const Index there = job.stage() == BudgetStage::counts ? 4 : 3;
        std::vector<std::int64_t> sum(job.length(), 0);
        for (Index k = 0; k < there; ++k) {
            auto noise = NoiseSource::repeatable(5, stream++);
            const auto own = site_sum(job, x.view().rows(k * 400, 400), noise);
            for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += own[i];
        }
        job.open(sum, there);
    }
    const auto others = records(400, features, 2);
    EXPECT_LT(error_on(others, *job.features()), 1.06 * best_error(x, 5, others));
}

TEST(Budget, SpendsWhatItWasGiven) {
    const BudgetJob job = run(records(800, {12, 10}, 1), terms_for({12, 10}, 5, 4), 1);
    double mu2 = 0;
    const double c2 = job.clip() * job.clip();
    for (const auto& [stage, change] :
         std::vector<std::pair<BudgetStage, double>>{{BudgetStage::counts, 2 * std::hypot(1, 0.5)},
                                                     {BudgetStage::modes, std::sqrt(2.0) * c2},
                                                     {BudgetStage::core, c2},
                                                     {BudgetStage::error, c2}}) {
        if (job.sigma(stage) > 0) mu2 += change * change / (job.sigma(stage) * job.sigma(stage));
    }
    EXPECT_NEAR(mu2, 16, 1e-9);
}

TEST(Budget, IsTheSameForEverybodyWhoOpensTheSameSums) {
    const auto x = records(400, {8, 6}, 1);
    const auto terms = terms_for({8, 6}, 3, 4);
    EXPECT_EQ(run(x, terms, 1).error()->rse, run(x, terms, 1).error()->rse);
    EXPECT_NE(run(x, terms, 1).error()->rse, run(x, terms, 2).error()->rse);
}

TEST(Budget, EmptyDataGivesFeaturesAndNoPromises) {
    const auto nothing = Tensor<double>::zeros({40, 6, 5});
    const BudgetJob job = run(nothing, terms_for({6, 5}, 3, 4), 1);
    EXPECT_TRUE(job.features());
    EXPECT_EQ(job.error()->high, 1);
}

TEST(Budget, RefusesTermsThatMeanNothing) {
    const auto refused = [](BudgetTerms terms, const std::string& what) {
        try {
            BudgetJob job(std::move(terms));
            ADD_FAILURE() << what;
        } catch (const InputError& error) {
            EXPECT_NE(std::string(error.what()).find(what), std::string::npos) << error.what();
        }
    };
    const auto good = terms_for({8, 6}, 3, 4);
    auto terms = good;
    terms.mu = 0;
    refused(terms, "mu");
    terms = good;
    terms.clip = -1;
    refused(terms, "clip");
    terms = good;
    terms.noisy_sites = 5;
    refused(terms, "1 to 4");
    terms = good;
    terms.rank = 0;
    refused(terms, "rank");
    terms = good;
    terms.features = {3000, 4};
    refused(terms, "2,000 labels");
    terms.features = {1000, 1000};
    terms.rank = 100;
    refused(terms, "smaller rank");
    BudgetJob job(good);
    EXPECT_THROW(job.open(std::vector<std::int64_t>(3), 4), InputError);
    EXPECT_THROW(job.open(std::vector<std::int64_t>(job.length()), 5), InputError);
}

}  // namespace
}  // namespace couplet
