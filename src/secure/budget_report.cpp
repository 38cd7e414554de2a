#include "couplet/secure/budget_report.hpp"

#include <cmath>
#include <cstdio>

namespace couplet {
namespace {

std::string short_number(double value) {
    char text[32];
    std::snprintf(text, sizeof text, "%.3g", value);
    return text;
}

}  // namespace

BudgetReport report_of(const BudgetJob& job, double delta) {
    BudgetReport report;
    report.mu = job.terms().mu;
    report.guarantee = {epsilon_of_mu(report.mu, delta), delta};
    report.split = job.split();
    for (const auto stage : {BudgetStage::counts, BudgetStage::modes, BudgetStage::core, BudgetStage::error}) {
        if (job.split().part(stage) > 0) report.sigma[stage] = job.sigma(stage);
    }
    report.clip = job.clip();
    report.clip_given = job.terms().clip.has_value();
    report.patients = job.patients();
    report.columns = job.columns();
    report.worth = job.worth();
    report.error = job.error();
    return report;
}

std::string uselessness(const BudgetReport& report) {
    constexpr double useless = 0.98;  // of the patients' energy is missed
    if (report.worth > 0 && !(report.error && report.error->rse > useless)) return "";
    return "mu " + short_number(report.mu) + " is too little for about " + short_number(report.patients) +
           " patients: nothing stands out of the noise; more patients, fewer labels or a larger mu would help";
}

}  // namespace couplet
