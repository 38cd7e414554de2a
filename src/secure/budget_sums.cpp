#include "couplet/secure/budget_sums.hpp"

#include <algorithm>

#include "couplet/privacy/gaussian.hpp"
#include "couplet/privacy/noise.hpp"
#include "couplet/secure/budget_site.hpp"

namespace couplet {

BudgetTerms budget_terms(const Job& job, const Shape& features, const ShieldTerms& terms, Index sites,
                         Index survivors) {
    return {.mu = *terms.mu,
            .clip = terms.clip,
            .sites = sites,
            .noisy_sites = survivors - terms.colluders,
            .features = features,
            .rank = job.rank.value_or(0),
            .eps2 = job.eps2};
}

std::vector<Stretch> stretches_of(const BudgetSum& sum) {
    std::vector<Stretch> stretches;
    for (const std::uint64_t modulus : sum.moduli) {
        if (stretches.empty() || stretches.back().ring.modulus() != modulus) {
            stretches.push_back({0, Ring::modulo(modulus), sum.step});
        }
        ++stretches.back().numbers;
    }
    return stretches;
}

int widest_ring(std::span<const Stretch> stretches) {
    int bits = 0;
    for (const Stretch& stretch : stretches) bits = std::max(bits, stretch.ring.bits());
    return bits;
}

std::vector<std::uint64_t> within_rings(std::span<const std::int64_t> values, std::span<const Stretch> stretches) {
    std::vector<std::uint64_t> result;
    result.reserve(values.size());
    for (const Stretch& stretch : stretches) {
        for (std::int64_t i = 0; i < stretch.numbers; ++i) result.push_back(stretch.ring.of(values[result.size()]));
    }
    return result;
}

std::vector<std::int64_t> centred(std::span<const std::uint64_t> values, std::span<const Stretch> stretches) {
    std::vector<std::int64_t> result;
    result.reserve(values.size());
    for (const Stretch& stretch : stretches) {
        for (std::int64_t i = 0; i < stretch.numbers; ++i)
            result.push_back(stretch.ring.centred(values[result.size()]));
    }
    return result;
}

std::vector<std::uint64_t> own_budget_numbers(const BudgetJob& job, const TensorView<const double>& x) {
    NoiseSource noise{Secret::random()};
    return within_rings(site_sum(job, x, noise), stretches_of(job.sum()));
}

void open_sum(BudgetJob& job, Bytes packed, Index sites) {
    const std::vector<Stretch> stretches = stretches_of(job.sum());
    job.open(centred(unpack(stretches, packed), stretches), sites);
}

ShieldPlan budget_plan(const Job& job, const BudgetJob& budget, const ShieldTerms& terms) {
    constexpr double delta = 1e-5;  // that epsilon is said at
    ShieldPlan plan{.job = job, .clip = terms.clip, .how = {}};
    plan.sums = budget_sums;
    plan.directions = std::min(budget.terms().rank, budget.terms().features.size());
    plan.patients = static_cast<Index>(budget.patients());
    if (budget.clip() > 0) plan.clip = budget.clip();
    plan.noise = NoisePlan{.guarantee = {epsilon_of_mu(*terms.mu, delta), delta},
                           .place = NoisePlace::distributed,
                           .clip = budget.clip(),
                           .releases = static_cast<int>(budget_sums),
                           .sigma = budget.sigma(BudgetStage::modes),
                           .rho = rho_of_mu(*terms.mu)};
    plan.mu = terms.mu;
    return plan;
}

}  // namespace couplet
