#pragma once

#include <optional>
#include <string>
#include <vector>

#include "couplet/models/choice.hpp"
#include "couplet/models/loadings.hpp"
#include "merged_result.hpp"
#include "session.hpp"

namespace couplet::cli {

/// Patients of one site in terms of the model.
struct SiteLoadings {
    std::string name;
    Loadings loadings;
    ModeLabels labels = {};
    bool measured = false;  ///< fitted to data, not to projections: its errors are those of the data
};

/// What `couplet factor` did.
struct Factored {
    Factors factors;
    std::optional<Choice> choice = {};
    std::optional<double> bound = {};  ///< certified, of sqrt(rse) over all patients with free loadings
    std::vector<Agreement> starts = {};
    std::optional<Replicability> halves = {};
    std::vector<SiteLoadings> sites = {};
    std::vector<std::string> warnings = {};
};

/// Mean over the measured sites, weighted by their norms; nothing where none is.
std::optional<double> measured_rse(const Factored& done);

Json factor_json(const Factored& done, const MergedResult& result);
std::string factor_text(const Factored& done, const std::string& output);

}  // namespace couplet::cli
