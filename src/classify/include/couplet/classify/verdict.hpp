#pragma once

#include <string>

#include "couplet/classify/evaluate.hpp"

namespace couplet {

/// What the areas say, each with its interval: whether anything is better than guessing, and whether the federation's
/// features are better than what a site learns alone (logistic regression, each site's own classifier).
struct SkillVerdict {
    bool beats_guessing = false;  ///< the lower end of the federated area's interval is above 0.5
    bool beats_alone = false;     ///< that of its difference from the local area is above 0
    std::string sentence = {};
};
SkillVerdict verdict_of(const Evaluation& evaluation);

}  // namespace couplet
