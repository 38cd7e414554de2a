#include "couplet/secure/shield_report.hpp"

namespace couplet {

ShieldReport report_of(const ShieldTerms& terms, const ShieldPlan* plan) {
    ShieldReport report;
    report.secure = true;
    report.policy = terms.policy && !terms.guarantee;
    if (plan == nullptr) return report;
    report.ring_bits = plan->how.ring.bits();
    report.sums = plan->sums;
    report.directions = plan->directions;
    report.clip = plan->clip;
    report.changes = plan->changes;
    report.warnings = plan->warnings;
    report.noise = plan->noise;
    return report;
}

}  // namespace couplet
