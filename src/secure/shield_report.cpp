#include "couplet/secure/shield_report.hpp"

namespace couplet {

ShieldReport report_of(const ShieldTerms& terms, const ShieldPlan* plan) {
    ShieldReport report;
    report.secure = true;
    report.policy = terms.policy && !terms.guarantee && !terms.mu;
    if (plan == nullptr) return report;
    report.ring_bits = plan->how.ring.bits();
    report.sums = plan->sums;
    report.directions = plan->directions;
    report.clip = plan->clip;
    report.changes = plan->changes;
    report.warnings = plan->warnings;
    report.noise = plan->noise;
    report.mu = plan->mu;
    return report;
}

std::optional<double> noise_cost_of(const ShieldPlan& plan, const Shape& features, const SubspaceIteration& finished) {
    if (!plan.noise || finished.want() != SubspaceIteration::Want::nothing) return std::nullopt;
    std::optional<Index> width;
    if (plan.sums > 1) width = block_width(plan, features);
    const Index rank = plan.job.rank.value_or(features.size());
    return noise_cost(*plan.noise, {finished.squares(), finished.squares_of()}, features.size(), rank, width);
}

}  // namespace couplet
