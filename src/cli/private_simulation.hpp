#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "couplet/shield/expected_error.hpp"
#include "couplet/shield/simulate_budget.hpp"
#include "privacy_options.hpp"
#include "session.hpp"
#include "simulate_report.hpp"

namespace couplet::cli {

/// The budget of a simulated job; nothing where it has none. Throws InputError for flags that contradict one another.
std::optional<BudgetOptions> budget_options(const PrivacyFlags& flags);

/// The object `privacy` of --json for a job under a budget, and lines for people.
Json budget_json(const BudgetReport& report);
void add_budget_rows(const BudgetReport& report, std::vector<std::pair<std::string, std::string>>& rows);

/// What the masked job would give: runs it, with noise that follows from the seed, as it is
/// only to be told. Nothing where no masked job is possible
/// (fewer than three clients, modes of too many labels) or where it would take long (more than 2^25 entries).
std::optional<MaskedOutlook> masked_outlook(const ClientSource& source, const SimulationOptions& options, Index rank,
                                            Index entries);
Json outlook_json(const MaskedOutlook& outlook);
std::string outlook_text(const MaskedOutlook& outlook);

/// Errors to be expected of so many patients, from public numbers alone.
Json expected_json(const std::vector<ExpectedError>& errors);
std::string expected_text(const std::vector<ExpectedError>& errors);

}  // namespace couplet::cli
