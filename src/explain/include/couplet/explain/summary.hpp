#pragma once

#include <string>

#include "couplet/explain/components.hpp"

namespace couplet {

/// Components that come back at least so well when the patients are drawn anew are stable.
inline constexpr double least_stability = 0.7;

/// "very stable (0.95)".
std::string stability_text(double stability);

/// Named components that are stable; all named ones where nobody has drawn patients anew.
Index stable_phenotypes(const Explanation& explanation);

/// "6 phenotypes in the records of 1,000 patients at 3 sites", "No stable phenotype in ...", and where it is not known
/// what comes together "6 patterns in ...".
std::string found_text(const Explanation& explanation);

/// What a phenotype is taken to be and how sure it is, in one or two sentences; empty where nothing is known of either.
std::string certainty_text(const Explanation& explanation, Index resamples);

/// "74 patients (north 30, south 34, west 10)"; empty where no data was at hand and nothing is told by sums.
std::string patients_text(const Explanation& explanation, const Component& component);

}  // namespace couplet
