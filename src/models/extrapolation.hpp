#pragma once

#include <algorithm>
#include <cmath>
#include <concepts>
#include <utility>
#include <vector>

#include "cp.hpp"

namespace couplet {

/// One kind of alternating updates. The first factor holds the loadings of the merged rows; it follows from the others.
template <class S>
concept Alternating = requires(S& solver, std::vector<Matrix<double>>& factors) {
    /// The best loadings for these feature factors; returns the objective.
    { solver.load(factors) } -> std::same_as<double>;
    /// Every feature factor once, columns of norm 1 afterwards.
    { solver.sweep(factors) } -> std::same_as<void>;
};

inline std::vector<Matrix<double>> copied(const std::vector<Matrix<double>>& factors) {
    std::vector<Matrix<double>> copy;
    for (const auto& factor : factors) copy.push_back(Matrix<double>::copy(factor.view()));
    return copy;
}

/// now + step (now - before) in the feature modes, no entry below `least`.
inline std::vector<Matrix<double>> stepped(const std::vector<Matrix<double>>& before,
                                           const std::vector<Matrix<double>>& now, double step, double least) {
    auto next = copied(now);
    for (std::size_t n = 1; n < next.size(); ++n) {
        for (Index i = 0; i < next[n].size(); ++i) {
            double& value = next[n].data()[i];
            value = std::max(least, value + step * (value - before[n].data()[i]));
        }
        normalise_columns(next[n]);
    }
    return next;
}

/// Alternating least squares where after each sweep a longer step the same way is tried, and taken back where the
/// objective did not fall (Ang and Gillis 2019, with one evaluation a sweep). The objective never rises.
template <Alternating S>
CpFit extrapolated(S& solver, std::vector<Matrix<double>> factors, const FactorOptions& options, double least) {
    // Grows while it pays.
    constexpr double growth = 1.15;
    constexpr double longest = 12;
    constexpr double shortest = 0.25;
    constexpr int patience = 3;
    CpFit fit;
    fit.objective = solver.load(factors);
    double step = 0.5;
    int idle = 0;
    while (fit.sweeps < options.sweeps && idle < patience) {
        const auto before = copied(factors);
        solver.sweep(factors);
        auto further = stepped(before, factors, step, least);
        double objective = solver.load(further);
        if (objective <= fit.objective) {
            factors = std::move(further);
            step = std::min(longest, growth * step);
        } else {
            objective = solver.load(factors);
            step = std::max(shortest, step / 3);
        }
        idle = fit.objective - objective <= options.tolerance ? idle + 1 : 0;
        fit.objective = objective;
        ++fit.sweeps;
    }
    fit.converged = idle >= patience;
    fit.factors = std::move(factors);
    return fit;
}

}  // namespace couplet
