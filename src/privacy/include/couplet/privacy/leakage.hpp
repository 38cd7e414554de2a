#pragma once

#include <string>
#include <vector>

#include "couplet/tensor/shape.hpp"

namespace couplet {

/// How a job asks for sums: `passes` blocks of rank + oversampling columns, or the Gram matrix at once.
struct SketchPlan {
    Index rank = 0;
    Index oversampling = 10;
    int passes = 3;
    bool gram = false;

    /// d of section 5: directions of the patients' row space that the sums show to whoever adds them up.
    Index directions(Index features) const noexcept;
    friend bool operator==(const SketchPlan&, const SketchPlan&) = default;
};

/// What sums over patients may show. They stop linear attacks, not a lattice on exact sums: masking_warning().
struct LeakageLimits {
    double patients_per_direction = 10;  ///< d <= honest patients / this
    double patients_per_feature = 10;    ///< Gram matrix: honest patients >= this x P
    double warn_patients_per_direction = 20;
    double warn_leverage = 0.33;  ///< of one patient in the row space of its client
    double warn_auc = 0.55;       ///< lower confidence bound of membership inference
    double clip_quantile = 0.9;   ///< of the row norms, at which all rows are clipped
    Index shown_before = 0;       ///< directions that other sums of the same job have shown, its means for one
};

struct FittedPlan {
    SketchPlan plan;
    std::vector<std::string> changes = {};   ///< in words, in the order they were made; empty: the plan was fine
    std::vector<std::string> warnings = {};  ///< allowed, but close
};

/// Makes a plan keep the limits for so many honest patients: fewer passes, then less oversampling, then a smaller rank.
/// `may_leave_gram` says whether a Gram matrix may become passes, where it was not asked for by name. Throws InputError
/// when nothing is left to give.
FittedPlan fit_plan(const SketchPlan& wanted, Index honest_patients, Index features, bool may_leave_gram,
                    const LeakageLimits& limits = {});

}  // namespace couplet
