#include "couplet/secure/budget_report.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "couplet/core/random.hpp"
#include "couplet/secure/budget_site.hpp"

namespace couplet {
namespace {

BudgetReport report_for(Index patients, double mu, std::optional<double> clip) {
    Random random(1);
    Tensor<double> x({patients, 6, 5});
    const auto rows = x.view().unfold(1);
    for (Index p = 0; p < patients; ++p) {
        const double size = 1 + random.uniform();
        for (Index j = 0; j < 30; ++j) rows(p, j) = size * (j < 4 ? 1 : 0.1 * random.normal());
    }
    BudgetJob job({.mu = mu, .clip = clip, .sites = 3, .noisy_sites = 1, .features = {6, 5}, .rank = 2});
    auto noise = NoiseSource::repeatable(2, 3);
    while (job.stage() != BudgetStage::done) job.open(site_sum(job, x.view(), noise), 1);
    return report_of(job, 1e-5);
}

TEST(BudgetReport, SaysWhatTheJobSpentAndFound) {
    const BudgetReport report = report_for(2000, 4, 3.0);
    EXPECT_EQ(report.mu, 4);
    EXPECT_NEAR(report.guarantee.epsilon, epsilon_of_mu(4, 1e-5), 1e-12);
    EXPECT_NEAR(report.patients, 2000, 30);
    EXPECT_TRUE(report.clip_given);
    EXPECT_EQ(report.columns, 30);
    EXPECT_GE(report.worth, 1);
    ASSERT_TRUE(report.error);
    EXPECT_LT(report.error->rse, 0.3);
    EXPECT_EQ(uselessness(report), "");
    // sigma = change / mu of the stage, in units of the data.
    const double modes = 4 * std::sqrt(report.split.modes);
    EXPECT_NEAR(report.sigma.at(BudgetStage::modes), std::sqrt(2.0) * 9 / modes, 1e-9);
    EXPECT_NEAR(report.sigma.at(BudgetStage::counts), 1 / (4 * std::sqrt(report.split.counts)), 1e-9);
}

TEST(BudgetReport, SaysWhereNothingUsefulFits) {
    const BudgetReport report = report_for(10, 0.05, std::nullopt);
    EXPECT_FALSE(report.clip_given);
    EXPECT_NE(uselessness(report).find("mu 0.05 is too little"), std::string::npos);
    EXPECT_FALSE(report.sigma.contains(BudgetStage::core));
}

}  // namespace
}  // namespace couplet
