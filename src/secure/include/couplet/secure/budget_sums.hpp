#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "couplet/ctt/job.hpp"
#include "couplet/privacy/secret.hpp"
#include "couplet/privacy/secure_sum.hpp"
#include "couplet/secure/budget.hpp"
#include "couplet/secure/shield_plan.hpp"
#include "couplet/tensor/tensor.hpp"

namespace couplet {

/// Masked sums of a job under a budget: the stages of a BudgetJob as sums 0, 1, 2, 3. What is opened of one is told
/// with the request for the next, so that every site follows the job itself and believes nobody's clip, basis or step.

/// The most sums that such a job has.
inline constexpr Index budget_sums = 4;

/// What all parties agree on; `survivors` of the sites stay to the end of every sum, and `terms.colluders` of these may
/// tell the coordinator their share of the noise.
BudgetTerms budget_terms(const Job& job, const Shape& features, const ShieldTerms& terms, Index sites, Index survivors);

/// Rings of the sum that is asked for next: one stretch for equal moduli that follow each other.
std::vector<Stretch> stretches_of(const BudgetSum& sum);
int widest_ring(std::span<const Stretch> stretches);
/// The integers of a site within the rings, and what a sum of them says: integers of least magnitude in their classes.
std::vector<std::uint64_t> within_rings(std::span<const std::int64_t> values, std::span<const Stretch> stretches);
std::vector<std::int64_t> centred(std::span<const std::uint64_t> values, std::span<const Stretch> stretches);

/// What a site adds to the next sum, with noise that nobody else can know.
std::vector<std::uint64_t> own_budget_numbers(const BudgetJob& job, const TensorView<const double>& x);

/// Takes a sum as it travels. Throws InputError, from whoever told it, for bytes that are none.
void open_sum(BudgetJob& job, Bytes packed, Index sites);

/// What the job promises, before anything is counted; once `counts` is open, with its clip and number of patients.
ShieldPlan budget_plan(const Job& job, const BudgetJob& budget, const ShieldTerms& terms);

}  // namespace couplet
