#pragma once

#include <string>

#include "classify_sites.hpp"
#include "session.hpp"

namespace couplet::cli {

/// The cross-validated comparison as --json has it, under "evaluation".
Json evaluation_json(const ClassifyPeople& people, const Evaluation& evaluation, const EvaluationOptions& how);

/// The same for people: arms and models, what federating gains, the sites, what to know beside it.
std::string evaluation_text(const ClassifyPeople& people, const Evaluation& evaluation, const EvaluationOptions& how);

}  // namespace couplet::cli
