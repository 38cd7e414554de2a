#include "couplet/privacy/leakage.hpp"

#include <algorithm>
#include <cmath>

#include "couplet/core/error.hpp"

namespace couplet {
namespace {

Index at_most_directions(Index honest, double patients_each) {
    return static_cast<Index>(std::floor(static_cast<double>(honest) / patients_each));
}

std::string change(const std::string& what, Index from, Index to) {
    return what + " " + std::to_string(from) + " -> " + std::to_string(to);
}

InputError too_few(Index honest, const std::string& expected) {
    return InputError({"leakage policy", std::to_string(honest) + " honest patients", expected,
                       "More clients or patients, or `policy` off after couplet audit has shown what then leaks."});
}

}  // namespace

Index SketchPlan::directions(Index features) const noexcept {
    return gram ? features : std::min(features, passes * std::min(features, rank + oversampling));
}

FittedPlan fit_plan(const SketchPlan& wanted, Index honest_patients, Index features, bool may_leave_gram,
                    const LeakageLimits& limits) {
    FittedPlan fitted{wanted};
    SketchPlan& plan = fitted.plan;
    if (plan.gram) {
        if (static_cast<double>(honest_patients) >= limits.patients_per_feature * static_cast<double>(features)) {
            return fitted;
        }
        const auto least = static_cast<Index>(std::ceil(limits.patients_per_feature * static_cast<double>(features)));
        if (!may_leave_gram) throw too_few(honest_patients, "at least " + std::to_string(least) + " for `sketch` gram");
        plan.gram = false;
        fitted.changes.push_back("sketch gram -> random");
    }
    const Index most = at_most_directions(honest_patients, limits.patients_per_direction) - limits.shown_before;
    if (most < 1) {
        const Index asked = 1 + limits.shown_before;
        const auto least = static_cast<Index>(std::ceil(limits.patients_per_direction * static_cast<double>(asked)));
        throw too_few(honest_patients, "at least " + std::to_string(least) +
                                           (asked == 1 ? ", for a single direction"
                                                       : ", for " + std::to_string(asked) +
                                                             " directions, those of the means with them"));
    }
    const auto width = [&] { return std::min(features, plan.rank + plan.oversampling); };
    if (plan.passes * width() > most && plan.passes > 1) {
        const int passes = static_cast<int>(std::max<Index>(1, most / width()));
        fitted.changes.push_back(change("passes", plan.passes, passes));
        plan.passes = passes;
    }
    if (width() > most && plan.oversampling > 0) {
        const Index oversampling = std::max<Index>(0, most - plan.rank);
        fitted.changes.push_back(change("oversampling", plan.oversampling, oversampling));
        plan.oversampling = oversampling;
    }
    if (width() > most) {
        fitted.changes.push_back(change("rank", plan.rank, most));
        plan.rank = most;
    }
    const Index shown = plan.directions(features) + limits.shown_before;
    if (shown > at_most_directions(honest_patients, limits.warn_patients_per_direction)) {
        fitted.warnings.push_back(std::to_string(shown) + " directions are shown of " +
                                  std::to_string(honest_patients) + " patients, more than one in " +
                                  std::to_string(static_cast<Index>(limits.warn_patients_per_direction)));
    }
    return fitted;
}

}  // namespace couplet
