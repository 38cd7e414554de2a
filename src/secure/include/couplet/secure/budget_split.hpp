#pragma once

#include <cstdint>
#include <string_view>

#include "couplet/tensor/shape.hpp"

namespace couplet {

/// The sums of a job under a budget, in their order (see budget.hpp); core is left out where it is not worth its part.
enum class BudgetStage { counts, modes, core, error, done };

/// "counts", "modes", "core", "error", "done".
std::string_view to_string(BudgetStage stage) noexcept;

/// Parts of mu^2, which add up to 1.
struct BudgetSplit {
    double counts = 0;
    double modes = 0;
    double core = 0;
    double error = 0;
    double part(BudgetStage stage) const noexcept;
};

/// Before anything is counted: what counts and error take, whatever the count says; the rest is divided after it.
BudgetSplit first_split() noexcept;

/// What the rest is spent on.
struct BudgetPlan {
    BudgetSplit split;
    Index columns = 0;  ///< of the core; 0: the modes take all
};
/// From public numbers: the noised count of patients, the budget, the labels and the rank. The core is worth its part
/// where the noise of its columns is small beside the energy that a share of the patients has in them; with one feature
/// mode there is none, since the mode is the whole (bench/budget.py has the measurements).
BudgetPlan plan_budget(double patients, double mu, const Shape& features, Index rank);

/// A fixed point for a sum of `numbers` numbers that one patient changes by at most `change` (Euclidean, in the unit of
/// the sum), released with mu: fine enough that rounding adds at most 3% to what a patient changes, and that a site's
/// share of the noise, when `noisy_sites` make the whole, is a discrete Gaussian whose sums are discrete Gaussian too.
struct NoiseGrid {
    double step = 0;
    std::uint64_t variance = 0;  ///< of a site's share, in squared steps
};
/// `whole`: the numbers are multiples of a half, and the step the inverse of an even number: nothing is rounded.
NoiseGrid fit_noise(double change, std::int64_t numbers, double mu, Index noisy_sites, bool whole);

}  // namespace couplet
