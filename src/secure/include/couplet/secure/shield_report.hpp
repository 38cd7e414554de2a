#pragma once

#include "couplet/secure/shield_plan.hpp"

namespace couplet {

/// What any party of a masked job can say of it: the terms, and the plan where one was made (else null).
ShieldReport report_of(const ShieldTerms& terms, const ShieldPlan* plan);

/// What the noise of a finished job may have cost, from the sums themselves; nothing without noise.
std::optional<double> noise_cost_of(const ShieldPlan& plan, const Shape& features, const SubspaceIteration& finished);

}  // namespace couplet
