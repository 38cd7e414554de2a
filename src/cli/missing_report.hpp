#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "couplet/ctt/completion.hpp"
#include "couplet/sim/complete.hpp"
#include "session.hpp"

namespace couplet::cli {

/// The object `missing` of `simulate --json`; `imputed` of a network's.
Json missing_json(const MissingReport& missing);

/// Lines of a report: how much was missing, how it was filled and how good that is.
std::vector<std::pair<std::string, std::string>> missing_rows(const MissingReport& missing);

/// What was filled in without any ground, in words: features that nobody knows, clients that know nothing. Empty where
/// there is no such thing.
std::string unknown_text(const UnknownParts& unknown);

/// Throws RunError for a completion that did not settle: the result has been written and says so, and the exit status
/// is to say it too.
void require_settled(const std::optional<MissingReport>& missing);

}  // namespace couplet::cli
