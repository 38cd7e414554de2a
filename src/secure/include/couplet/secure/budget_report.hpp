#pragma once

#include <map>
#include <optional>
#include <string>

#include "couplet/privacy/gaussian.hpp"
#include "couplet/privacy/noise.hpp"
#include "couplet/secure/budget.hpp"

namespace couplet {

/// What can be said of a job under a budget, to anybody: all of it is public or follows from noised sums.
struct BudgetReport {
    double mu = 0;
    PrivacyGuarantee guarantee;  ///< what mu means at this delta
    NoisePlace place = NoisePlace::distributed;
    bool masked = true;
    int threshold = 0;  ///< sites that must stay to the end of a sum; 0: all, or nothing is masked
    BudgetSplit split;
    /// Standard deviation of the noise in every number of a sum that was asked for, in units of the data (squared, but
    /// for counts).
    std::map<BudgetStage, double> sigma = {};
    double clip = 0;
    bool clip_given = false;
    double patients = 0;  ///< as the noised count says
    Index columns = 0;    ///< of the core; 0: the modes alone
    Index worth = 0;      ///< directions that stand out of the noise
    std::optional<BudgetError> error = {};
    std::string withdrawn = {};  ///< why the noise guarantees nothing, in words; empty: it does
};

/// Of a job that is done.
BudgetReport report_of(const BudgetJob& job, double delta);

/// Why the features are of little use, in words, with what would help; "" where they are of some.
std::string uselessness(const BudgetReport& report);

}  // namespace couplet
