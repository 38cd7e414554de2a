#include "couplet/secure/budget_split.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "couplet/core/error.hpp"
#include "couplet/privacy/discrete_gaussian.hpp"
#include "couplet/privacy/gaussian.hpp"

namespace couplet {
namespace {

// Tuned with bench/budget.py.
constexpr double counts_part = 0.03;
constexpr double error_part = 0.02;
constexpr double modes_share = 0.4;  // of what modes and core have together
// Patients times mu, from which on the core is worth its part: for each column, and for each direction that is wanted.
constexpr double patients_a_column = 20;
constexpr double patients_a_direction = 160;
constexpr Index least_columns = 100;
constexpr Index most_columns = 1400;  // a million numbers

}  // namespace

std::string_view to_string(BudgetStage stage) noexcept {
    constexpr std::string_view names[] = {"counts", "modes", "core", "error", "done"};
    return names[static_cast<int>(stage)];
}

double BudgetSplit::part(BudgetStage stage) const noexcept {
    switch (stage) {
        case BudgetStage::counts:
            return counts;
        case BudgetStage::modes:
            return modes;
        case BudgetStage::core:
            return core;
        case BudgetStage::error:
            return error;
        case BudgetStage::done:
            break;
    }
    return 0;
}

BudgetSplit first_split() noexcept { return {.counts = counts_part, .error = error_part}; }

BudgetPlan plan_budget(double patients, double mu, const Shape& features, Index rank) {
    BudgetPlan plan{first_split()};
    const double rest = 1 - plan.split.counts - plan.split.error;
    const Index columns = std::min({features.size(), std::max(least_columns, 2 * rank), most_columns});
    const double least = std::max(patients_a_column * static_cast<double>(columns),
                                  patients_a_direction * static_cast<double>(std::min(rank, columns)));
    const bool worth = features.order() > 1 && patients * mu >= least;
    plan.columns = worth ? columns : 0;
    plan.split.modes = worth ? modes_share * rest : rest;
    plan.split.core = worth ? (1 - modes_share) * rest : 0;
    return plan;
}

NoiseGrid fit_noise(double change, std::int64_t numbers, double mu, Index noisy_sites, bool whole) {
    constexpr double most_rounding = 1.03;
    constexpr double least_deviation = 8;  // of a share, in steps
    const double shares = std::sqrt(static_cast<double>(noisy_sites));
    const double finer = whole ? 2 : std::exp2(0.25);
    for (double steps = 2; steps < 0x1p40; steps *= finer) {  // to the unit of the sum
        const double exact = change * steps;
        const double rounded = whole ? exact : rounded_sensitivity(exact, numbers);
        const double deviation = rounded / mu / shares;
        if (rounded > most_rounding * exact || deviation < least_deviation) continue;
        const double variance = std::ceil(deviation * deviation);
        if (variance > static_cast<double>(most_noise_variance)) break;
        return {1 / steps, static_cast<std::uint64_t>(variance)};
    }
    throw InputError({"`mu`", std::to_string(mu), "between 1e-5 and 1e5", ""});
}

}  // namespace couplet
