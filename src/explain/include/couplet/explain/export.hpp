#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "couplet/explain/components.hpp"
#include "couplet/explain/matching.hpp"
#include "couplet/explain/patient.hpp"

namespace couplet {

/// What may be said about a result.
struct Told {
    std::optional<PatientStory> patient = {};
    std::optional<Drift> drift = {};
    const Explanation* before = nullptr;  ///< of the drift
    Index resamples = 0;                  ///< behind the stability; 0: it was not asked for
};

/// The fields of `explain --json`.
nlohmann::ordered_json explanation_json(const Explanation& explanation, const Told& told);

/// One line per strong entry: component, share, stability, one column per feature mode, weight.
std::string explanation_csv(const Explanation& explanation);

/// "31%", "4.2%", "0.08%"; "not known" for NaN.
std::string percent_text(double share);

}  // namespace couplet
