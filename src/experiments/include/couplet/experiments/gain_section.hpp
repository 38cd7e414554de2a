#pragma once

#include <string>
#include <vector>

#include "couplet/experiments/result.hpp"

namespace couplet {

/// What one site of a data set gains by joining: errors on new people, alone and with the federation.
struct HeldoutGain {
    std::string data = {};  ///< "Diabetes"
    Index site = 0;         ///< from 1
    double alone = 0;
    double together = 0;
};

/// Where the experiment heldout keeps them: rows of a figure that is not drawn, so that they are in its files.
inline constexpr const char* gain_figure = "gain";
std::string gain_category(const std::string& data, Index site);

/// Those of the results, in their order; nothing where heldout is not among them or its data was not there.
std::vector<HeldoutGain> site_gains(const std::vector<ExperimentResult>& results);

/// "Diabetes: 0.228 alone, 0.187 with the federation (4 of 4 sites)": one sentence for each data set.
std::vector<std::string> gain_sentences(const std::vector<HeldoutGain>& gains);

/// A section of a page that begins with what joining brings, with a table by site; empty without gains.
std::string render_gain_section(const std::vector<HeldoutGain>& gains);

}  // namespace couplet
