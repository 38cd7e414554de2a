#include "couplet/secure/shield_plan.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>

#include "couplet/core/error.hpp"

namespace couplet {
namespace {

using Want = SubspaceIteration::Want;

// Sums are of squares, of many patients, with noise that is smaller or larger by orders: all of it stays a number.
constexpr double largest_mu = 1000;
constexpr double least_clip = 1e-100;
constexpr double largest_clip = 1e100;

std::string short_number(double value) {
    char text[32];
    std::snprintf(text, sizeof text, "%.3g", value);
    return text;
}

void fit_policy(ShieldPlan& plan, const Shape& features, Index honest, const LeakageLimits& limits) {
    Job& job = plan.job;
    const bool gram = SubspaceIteration(job, features).want() == Want::gram;
    const FittedPlan fitted = fit_plan({job.rank.value_or(features.size()), job.oversampling, job.passes, gram}, honest,
                                       features.size(), job.sketch != Sketch::gram, limits);
    job.rank = fitted.plan.rank;
    job.oversampling = fitted.plan.oversampling;
    job.passes = fitted.plan.passes;
    // A plan that was made smaller must not become a Gram matrix because that is fewer numbers.
    if (!fitted.plan.gram) job.sketch = Sketch::random;
    plan.changes = fitted.changes;
    plan.warnings = fitted.warnings;
}

/// The policy clips at the norm that most records keep; a longer --clip does not take that away.
void fit_clip(ShieldPlan& plan, double usual) {
    if (!(usual > 0) || (plan.clip && *plan.clip <= usual)) return;
    if (plan.clip) plan.changes.push_back("clip " + short_number(*plan.clip) + " -> " + short_number(usual));
    plan.clip = usual;
}

/// Bounds of one client's numbers and of the sum over all, within which the ring cannot wrap. No entry of a sum of
/// products of rows exceeds the squares of the rows together, and no noise nine of its standard deviations.
void fit_ring(ShieldPlan& plan, const std::optional<Census>& census, Index clients) {
    if (plan.noise) {
        constexpr double most_patients = 0x1.0p32;  // the count itself is nobody's business
        const double least = plan.noise->own > 0 ? plan.noise->own : plan.noise->sigma;
        plan.bound = most_patients * *plan.clip * *plan.clip;
        const double all = (plan.bound + largest_noise * least) * static_cast<double>(clients);
        // The step need only be small beside the noise, and the noise must fit the integers that it is drawn from.
        constexpr double steps = 0x1.0p20;
        const int precision = static_cast<int>(std::clamp(std::floor(std::log2(all / least * steps)), 1.0, 58.0));
        plan.how = agree_fixed_point(all, clients, precision);
        return;
    }
    const double longest = census->longest;
    const double norm = std::min(longest, plan.clip.value_or(longest));
    const auto records = static_cast<double>(std::max(census->records, census->patients));
    plan.bound = std::max(records * norm * norm, 0x1.0p-500);
    plan.how = agree_fixed_point(plan.bound, clients, 52);  // a sum keeps what a double holds
}

}  // namespace

void require_possible(const ShieldTerms& terms) {
    if (terms.mu && (terms.guarantee || !(*terms.mu > 0) || !(*terms.mu <= largest_mu))) {
        throw InputError({"`mu`", terms.guarantee ? "given with `dp_epsilon`" : short_number(*terms.mu),
                          terms.guarantee ? "one or the other" : "a number greater than 0, at most 1000",
                          "Both are a budget of noise, in two spellings."});
    }
    if (terms.clip && !(*terms.clip >= least_clip && *terms.clip <= largest_clip)) {
        throw InputError({"`clip`", short_number(*terms.clip),
                          short_number(least_clip) + " to " + short_number(largest_clip),
                          "Give the data in units in which its records have usual norms."});
    }
    if (!terms.guarantee || terms.clip) return;
    throw InputError({"`clip`", "missing with `dp_epsilon`", "the norm that no record shall exceed",
                      "Choose it from public knowledge: a norm looked up in the data would not be private itself."});
}

void require_private_preparation(const ShieldTerms& terms, const Preparation& preparation) {
    if (!terms.guarantee && !terms.mu) return;
    const std::string with = terms.mu ? " with `mu`" : " with `dp_epsilon`";
    if (preparation.scale_clients) {
        throw InputError({"`scale_clients`", "norm" + with, "none",
                          "One patient changes the norm, and so every record of the client: no noise covers that."});
    }
    if (preparation.heldout > 0) {
        throw InputError({"`heldout`", "given" + with, "everybody takes part",
                          "One patient more changes who is held out. Keep new patients in a file of their own for "
                          "couplet project."});
    }
}

ShieldPlan plan_shield(const Job& job, const Shape& features, const ShieldTerms& terms,
                       const std::optional<Census>& census, Index clients, Index survivors,
                       const LeakageLimits& limits) {
    require_possible(terms);
    if (!terms.guarantee && !census) throw InputError({"counts of patients", "none", "those of all clients", ""});
    ShieldPlan plan{.job = job, .clip = terms.clip, .how = {}};
    if (census) {
        plan.patients = census->patients;
        plan.honest = fewest_honest(*census, clients, survivors, terms.colluders);
    }
    const bool policy = terms.policy && !terms.guarantee;
    if (policy) fit_policy(plan, features, plan.honest, limits);
    if (policy) fit_clip(plan, census->usual);
    const SubspaceIteration iteration(plan.job, features);
    plan.sums = iteration.sums_left();
    plan.directions = iteration.want() == Want::gram
                          ? features.size()
                          : std::min(features.size(), plan.job.passes * iteration.basis().cols());
    if (terms.guarantee) {
        const Index colluders = terms.noise == NoisePlace::distributed ? terms.colluders : 0;
        plan.noise = plan_noise(*terms.guarantee, *plan.clip, static_cast<int>(plan.sums), terms.noise, clients,
                                survivors, colluders);
    }
    fit_ring(plan, census, clients);
    return plan;
}

Index block_width(const ShieldPlan& plan, const Shape& features) {
    const Index p = features.size();
    return std::min(p, std::min(plan.job.rank.value_or(p), p) + plan.job.oversampling);
}

Index widest_basis(const ShieldPlan& plan, const Shape& features) {
    return std::min(features.size(), plan.job.passes * block_width(plan, features));
}

Want want_of(const ShieldPlan& plan, Index sum) {
    if (sum < 1 || sum > plan.sums) return Want::nothing;
    if (plan.sums == 1) return Want::gram;  // blocks need a projected sum after them
    return sum < plan.sums ? Want::sketch : Want::projected;
}

}  // namespace couplet
