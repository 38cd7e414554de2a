#include "couplet/models/choice.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <utility>

#include "contractions.hpp"
#include "cores.hpp"
#include "couplet/core/error.hpp"
#include "couplet/core/random.hpp"
#include "couplet/core/threads.hpp"
#include "plain.hpp"
#include "tucker.hpp"

namespace couplet {
namespace {

constexpr double most_consistency_numbers = 1 << 22;
// Halves need not be fitted to the last digit to be compared.
constexpr double half_tolerance = 1e-7;
constexpr Index half_sweeps = 200;
constexpr Index half_starts = 2;

/// Two halves of the patients of every site, as rows.
using Halves = std::array<MergedRows, 2>;

Matrix<double> picked(MatrixView<const double> site, const std::vector<Index>& rows, std::size_t first,
                      std::size_t last) {
    Matrix<double> out(static_cast<Index>(last - first), site.cols);
    for (std::size_t i = first; i < last; ++i) {
        std::copy_n(site.row(rows[i]), site.cols, out.view().row(static_cast<Index>(i - first)));
    }
    return out;
}

Halves halves_of(const TensorTrain<double>& features, std::span<const MatrixView<const double>> personal,
                 std::uint64_t seed, Index resample) {
    Random random(seed, static_cast<std::uint64_t>(resample) + 0x68616c66);
    std::vector<Matrix<double>> parts;
    std::array<std::vector<MatrixView<const double>>, 2> sides;
    parts.reserve(2 * personal.size());
    for (const auto& site : personal) {
        std::vector<Index> order(static_cast<std::size_t>(site.rows));
        std::iota(order.begin(), order.end(), Index{0});
        for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random.below(i)]);
        // Of an odd number the one that is left goes either way.
        const std::size_t half = (order.size() + random.below(2)) / 2;
        parts.push_back(picked(site, order, 0, half));
        sides[0].push_back(std::as_const(parts.back()).view());
        parts.push_back(picked(site, order, half, order.size()));
        sides[1].push_back(std::as_const(parts.back()).view());
    }
    return {rows_of_patients(features, sides[0]), rows_of_patients(features, sides[1])};
}

std::vector<Halves> all_halves(const MergedRows& rows, std::span<const MatrixView<const double>> personal,
                               std::uint64_t seed, Index resamples) {
    std::vector<Halves> halves;
    for (Index b = 0; b < resamples; ++b) halves.push_back(halves_of(rows.features, personal, seed, b));
    return halves;
}

/// Fits to both halves of every resample; a fit that does not exist is nothing.
std::vector<std::array<std::optional<Factors>, 2>> fit_halves(const std::vector<Halves>& halves,
                                                              const FactorOptions& options) {
    std::vector<std::array<std::optional<Factors>, 2>> fits(halves.size());
    parallel_for(static_cast<Index>(2 * halves.size()), [&](std::int64_t task) {
        const auto b = static_cast<std::size_t>(task / 2);
        const auto side = static_cast<std::size_t>(task % 2);
        FactorOptions own = options;
        own.starts = std::min(options.starts, half_starts);
        own.tolerance = std::max(options.tolerance, half_tolerance);
        own.sweeps = std::min(options.sweeps, half_sweeps);
        own.seed = options.seed + 1000003 * static_cast<std::uint64_t>(task + 1);
        try {
            if (halves[b][side].norm() > 0) fits[b][side] = fit_factors(halves[b][side], own);
        } catch (const RunError&) {
            // Degenerate: it agrees with nothing.
        }
    });
    return fits;
}

void compare_halves(const std::vector<Halves>& halves, const FactorOptions& options, ChoicePoint& point) {
    const auto fits = fit_halves(halves, options);
    double held_out = 0;
    bool comparable = true;
    const auto count = static_cast<double>(halves.size());
    for (std::size_t b = 0; b < halves.size(); ++b) {
        if (!fits[b][0] || !fits[b][1]) {
            comparable = false;  // and the agreement of this resample is zero
            continue;
        }
        const Agreement found = agreement(*fits[b][0], *fits[b][1], options.seed);
        point.agreement += found.corrected_least() / count;
        point.mean_agreement += found.corrected() / count;
        for (std::size_t side = 0; side < 2; ++side) {
            const MergedRows& other = halves[b][1 - side];
            held_out += rel_error_on(other, captured(other.features, fits[b][side]->rows)) / (2 * count);
        }
    }
    if (comparable) point.held_out = held_out;
}

void compare_starts(const Factors& factors, std::uint64_t seed, ChoicePoint& point) {
    const auto all = start_agreements(factors, seed);
    for (const Agreement& one : all) {
        point.agreement += one.corrected_least() / static_cast<double>(all.size());
        point.mean_agreement += one.corrected() / static_cast<double>(all.size());
    }
}

ChoicePoint try_components(const MergedRows& rows, const std::vector<Halves>& halves, const FactorOptions& options) {
    ChoicePoint point{.components = options.components};
    try {
        const Factors factors = fit_factors(rows, options);
        point.rel_error = factors.rel_error;
        point.consistency = core_consistency(rows, factors);
        if (halves.empty()) {
            compare_starts(factors, options.seed, point);
        } else {
            compare_halves(halves, options, point);
        }
    } catch (const RunError&) {
        point.degenerate = true;
    }
    point.stable = !point.degenerate && point.agreement >= stable_agreement &&
                   (!point.consistency || *point.consistency >= least_consistency);
    return point;
}

}  // namespace

Choice choose_components(const MergedRows& rows, std::span<const MatrixView<const double>> personal,
                         const ChoiceOptions& options, const ProgressSink& progress) {
    Choice choice;
    const bool splittable = std::ranges::any_of(personal, [](const auto& site) { return site.rows >= 2; });
    if (!splittable && (options.fit.model == FactorModel::pca || options.fit.starts < 2)) {
        throw InputError({"`components`", "auto, and nothing to compare",
                          "personal cores of all sites beside the features, or several starts of cp, nncp or tucker",
                          "Say how many components there are to be."});
    }
    std::vector<Halves> halves;
    if (splittable) halves = all_halves(rows, personal, options.fit.seed, options.resamples);
    choice.resampled = splittable;
    const Index most = std::min(options.most, rows.features.left_rank());
    for (Index components = 1; components <= most; ++components) {
        report(progress, "components", components - 1, most);
        FactorOptions fit = options.fit;
        fit.components = components;
        choice.points.push_back(try_components(rows, halves, fit));
        if (choice.points.back().stable) choice.components = components;
    }
    return choice;
}

std::optional<double> core_consistency(const MergedRows& rows, const Factors& factors) {
    if (factors.model != FactorModel::cp && factors.model != FactorModel::nncp) return std::nullopt;
    const Index rank = factors.rows.left_rank();
    auto cores = cores_of(rows);
    double numbers = 1;
    for (const auto& core : cores) {
        if (core.shape()[1] < rank) return std::nullopt;
        numbers *= static_cast<double>(rank);
    }
    if (numbers > most_consistency_numbers || cores.size() < 3) return std::nullopt;
    const auto inverted = [](const Matrix<double>& factor) {
        const auto gram = plain::turned_product(factor.view(), factor.view());
        return plain::product(factor.view(), plain::power(plain::eigen(gram.view()), -1).view());
    };
    // The loadings of the merged rows that fit best.
    const auto across = inner_products(rows.features, factors.rows);
    const auto gram = inner_products(factors.rows, factors.rows);
    const auto inverse = plain::power(plain::eigen(gram.view()), -1);
    const MatrixView<const double> weights(cores.front().data(), across.rows(), across.rows());
    const auto loadings = plain::product(plain::product(weights, across.view()).view(), inverse.view());
    std::vector<Matrix<double>> bases;
    bases.push_back(inverted(loadings));
    for (const auto& factor : factors.factors) bases.push_back(inverted(factor));
    const Tensor<double> core = tucker_core(cores, bases);
    double distance = 0;
    Index diagonal = 0;
    for (std::size_t n = 0; n < bases.size(); ++n) diagonal = diagonal * rank + 1;
    for (Index i = 0; i < core.size(); ++i) {
        const double difference = core.data()[i] - (i % diagonal == 0 ? 1 : 0);
        distance += difference * difference;
    }
    return 1 - distance / static_cast<double>(rank);
}

Replicability replicate(const MergedRows& rows, std::span<const MatrixView<const double>> personal,
                        const Factors& factors, const FactorOptions& options, Index resamples) {
    Replicability result;
    Index fitted = 0;
    for (const auto& both : fit_halves(all_halves(rows, personal, options.seed, resamples), options)) {
        for (const auto& fit : both) {
            if (!fit) continue;
            const Agreement found = agreement(factors, *fit, options.seed);
            result.congruence.resize(found.congruence.size());
            for (std::size_t r = 0; r < found.congruence.size(); ++r) result.congruence[r] += found.congruence[r];
            result.chance += found.chance;
            ++fitted;
        }
    }
    for (double& value : result.congruence) value /= static_cast<double>(fitted);
    if (fitted > 0) result.chance /= static_cast<double>(fitted);
    return result;
}

}  // namespace couplet
