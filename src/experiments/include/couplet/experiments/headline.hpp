#pragma once

#include <string>

#include "couplet/experiments/result.hpp"

namespace couplet {

/// What an experiment found, in one sentence, and the figure that shows it.
struct Headline {
    std::string sentence = {};  ///< empty where the rows that it speaks of were not measured
    std::string figure = {};    ///< the id of a figure that has rows; empty when there is none
};

/// Computed from the rows of the result, so that it says what these numbers say.
Headline headline(const ExperimentResult& result);

/// The name of the method that the paper prints, in sentences.
inline constexpr const char* papers_ctt = "the CTT of Zhang et al. 2024";

}  // namespace couplet
