#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "couplet/secure/budget_report.hpp"
#include "couplet/sim/simulate.hpp"

namespace couplet {

/// What a patient's budget is, and who sees what.
struct BudgetOptions {
    double mu = 4;
    double delta = 1e-5;              ///< at which epsilon is stated
    std::optional<double> clip = {};  ///< nothing: a noised quantile of the norms
    bool masked = true;               ///< only sums over all clients are seen
    NoisePlace place = NoisePlace::distributed;
    int colluders = 1;  ///< clients that may tell the coordinator what they know
    int min_cohort = 3;
    /// For tests, and for saying what a masked job would give: noise that follows from this seed. Nothing is guaranteed
    /// then, and the report says so.
    std::optional<std::uint64_t> repeatable_noise = {};
};

struct BudgetResult {
    SimulationResult simulation;
    BudgetReport privacy;
};

/// A federation under a budget (see couplet/secure/budget.hpp), with noise that is really drawn, through the masked
/// sums of the network. Needs a rank. Bytes are those of the sums up, and of the opened sums down, from which every
/// client computes the features itself. Throws InputError for another aggregate than subspace, where fewer clients take
/// part than the smallest cohort, and for what require_budget() refuses.
BudgetResult simulate_budget(const ClientSource& source, SimulationOptions options, const BudgetOptions& budget);

}  // namespace couplet
