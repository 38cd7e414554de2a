#include "couplet/models/factors.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "contractions.hpp"
#include "cores.hpp"
#include "couplet/core/error.hpp"
#include "couplet/core/threads.hpp"
#include "cp.hpp"
#include "plain.hpp"
#include "tucker.hpp"

namespace couplet {
namespace {

constexpr Index most_core_numbers = Index{1} << 24;
// A solution whose components are five times their sum and of which two cancel is on its way to none.
constexpr double most_growth = 5;
constexpr double least_congruence = -0.9;
constexpr double ridges[] = {1e-4, 1e-3, 1e-2};

void require_options(const MergedRows& rows, const FactorOptions& options) {
    const Index most = rows.features.left_rank();
    if (options.components < 1) {
        throw InputError({"`components`", std::to_string(options.components), "1 or more", ""});
    }
    if (options.components > most) {
        throw InputError({"`components`", std::to_string(options.components),
                          "at most " + std::to_string(most) + ", the directions that the federation kept",
                          "Run it with a `rank` of " + std::to_string(options.components) +
                              " or more; five times that many lose little."});
    }
    if (options.starts < 1) throw InputError({"`starts`", std::to_string(options.starts), "1 or more", ""});
}

/// Fits of all starts, the best first.
template <class Fit>
auto best_first(const FactorOptions& options, const Fit& fit) {
    using Result = decltype(fit(std::uint64_t{0}));
    std::vector<Result> results(static_cast<std::size_t>(options.starts));
    parallel_for(options.starts,
                 [&](std::int64_t k) { results[static_cast<std::size_t>(k)] = fit(static_cast<std::uint64_t>(k)); });
    return results;
}

double sign_of_largest(const Matrix<double>& m, Index column) {
    double largest = 0;
    for (Index i = 0; i < m.rows(); ++i) {
        if (std::abs(m(i, column)) > std::abs(largest)) largest = m(i, column);
    }
    return largest < 0 ? -1 : 1;
}

/// Columns in this order, the entry of largest magnitude of each positive.
Matrix<double> arranged(const Matrix<double>& m, const std::vector<Index>& order) {
    Matrix<double> out(m.rows(), m.cols());
    for (std::size_t r = 0; r < order.size(); ++r) {
        const double sign = sign_of_largest(m, order[r]);
        for (Index i = 0; i < m.rows(); ++i) out(i, static_cast<Index>(r)) = sign * m(i, order[r]);
    }
    return out;
}

std::vector<Index> descending(const std::vector<double>& weights) {
    std::vector<Index> order(weights.size());
    std::iota(order.begin(), order.end(), Index{0});
    std::stable_sort(order.begin(), order.end(), [&](Index a, Index b) {
        return weights[static_cast<std::size_t>(a)] > weights[static_cast<std::size_t>(b)];
    });
    return order;
}

/// The feature factors of a start, strongest component first; `weights` are put in that order too.
std::vector<Matrix<double>> feature_factors(CpFit& fit, std::vector<double>& weights) {
    weights = normalise_columns(fit.factors[0]);
    const auto order = descending(weights);
    std::vector<Matrix<double>> factors;
    for (std::size_t n = 1; n < fit.factors.size(); ++n) factors.push_back(arranged(fit.factors[n], order));
    std::vector<double> sorted;
    for (const Index r : order) sorted.push_back(weights[static_cast<std::size_t>(r)]);
    weights = std::move(sorted);
    return factors;
}

/// Row r is the product of the r-th columns.
TensorTrain<double> rows_of_products(const std::vector<Matrix<double>>& factors) {
    const Index rank = factors.front().cols();
    std::vector<Tensor<double>> cores;
    for (std::size_t n = 0; n < factors.size(); ++n) {
        const bool last = n + 1 == factors.size();
        auto core = Tensor<double>::zeros({rank, factors[n].rows(), last ? 1 : rank});
        for (Index r = 0; r < rank; ++r) {
            for (Index i = 0; i < factors[n].rows(); ++i) {
                const Index row = r * factors[n].rows() + i;
                core.data()[last ? row : row * rank + r] = factors[n](i, r);
            }
        }
        cores.push_back(std::move(core));
    }
    return TensorTrain<double>(std::move(cores));
}

std::vector<CpFit> cp_starts(const std::vector<Tensor<double>>& cores, const FactorOptions& options) {
    auto fits = best_first(options, [&](std::uint64_t start) {
        return options.model == FactorModel::nncp ? fit_nonnegative_cp(cores, options, start)
                                                  : fit_cp(cores, options, start);
    });
    std::stable_sort(fits.begin(), fits.end(),
                     [](const CpFit& a, const CpFit& b) { return a.objective < b.objective; });
    return fits;
}

bool is_degenerate(const Cancelling& pair) { return pair.growth > most_growth && pair.congruence < least_congruence; }

/// Fits whose best does not degenerate, with as little ridge as that takes.
std::vector<CpFit> sound_starts(const std::vector<Tensor<double>>& cores, FactorOptions& options) {
    auto fits = cp_starts(cores, options);
    if (options.model == FactorModel::nncp || options.components < 2) return fits;
    Cancelling pair = cancelling_pair(fits.front().factors);
    for (const double ridge : ridges) {
        if (!is_degenerate(pair)) return fits;
        if (ridge <= options.ridge) continue;
        options.ridge = ridge;
        fits = cp_starts(cores, options);
        pair = cancelling_pair(fits.front().factors);
    }
    if (!is_degenerate(pair)) return fits;
    throw RunError({"`components`",
                    std::to_string(options.components) + " of which " + std::to_string(pair.first + 1) + " and " +
                        std::to_string(pair.second + 1) + " cancel each other and grow without end",
                    "components that add up to something",
                    "Ask for fewer `components`, or for the `model` tucker or nncp."});
}

Factors fit_products(const MergedRows& rows, FactorOptions options) {
    const auto cores = cores_of(rows);
    auto fits = sound_starts(cores, options);
    Factors result;
    result.model = options.model;
    result.ridge = options.ridge;
    result.sweeps = fits.front().sweeps;
    result.converged = fits.front().converged;
    result.factors = feature_factors(fits.front(), result.weights);
    const double norm = rows.norm();
    for (double& weight : result.weights) weight *= norm;
    result.rows = rows_of_products(result.factors);
    for (std::size_t k = 0; k < fits.size(); ++k) {
        result.start_errors.push_back(std::sqrt(std::max(0.0, fits[k].objective)));
        std::vector<double> unused;
        if (k > 0) result.others.push_back(feature_factors(fits[k], unused));
    }
    return result;
}

/// first R rows of turn^T V.
TensorTrain<double> turned_features(const TensorTrain<double>& features, const Matrix<double>& turn) {
    std::vector<Tensor<double>> cores;
    auto first = plain::turned_product(turn.view(), features.right_unfolding(0));
    const Shape shape = features.core(0).shape();
    cores.emplace_back(Shape{turn.cols(), shape[1], shape[2]}, std::move(first).release());
    for (Index n = 1; n < features.order(); ++n) cores.push_back(Tensor<double>::copy(features.core(n)));
    return TensorTrain<double>(std::move(cores));
}

Factors fit_pca(const MergedRows& rows, const FactorOptions& options) {
    const double norm = rows.norm();
    const auto cores = cores_of(rows);
    const Index rank = rows.features.left_rank();
    const MatrixView<const double> unit(cores.front().data(), rank, rank);
    const auto eigen = plain::eigen(plain::turned_product(unit, unit).view());
    Factors result;
    result.model = FactorModel::pca;
    result.rows = turned_features(rows.features, leading_columns(eigen.vectors.view(), options.components));
    for (Index r = 0; r < options.components; ++r) {
        result.weights.push_back(norm * std::sqrt(std::max(0.0, eigen.values[static_cast<std::size_t>(r)])));
    }
    if (rows.features.order() == 1) {
        result.factors.push_back(transpose(result.rows.right_unfolding(0)));
    }
    return result;
}

/// As many as asked for, as far as a mode and the others' product have them.
std::vector<Index> tucker_ranks(const std::vector<Tensor<double>>& cores, Index components) {
    std::vector<Index> ranks;
    for (const auto& core : cores) ranks.push_back(std::min(components, core.shape()[1]));
    for (bool changed = true; changed;) {
        changed = false;
        for (Index& rank : ranks) {
            double others = 1;
            for (const Index& other : ranks) others *= &other == &rank ? 1 : static_cast<double>(other);
            if (static_cast<double>(rank) <= others) continue;
            rank = static_cast<Index>(others);
            changed = true;
        }
    }
    double numbers = 1;
    for (const Index rank : ranks) numbers *= static_cast<double>(rank);
    if (numbers <= static_cast<double>(most_core_numbers)) return ranks;
    throw InputError({"`components`", std::to_string(components) + ", a core of more than 2^24 numbers", "fewer", ""});
}

/// Core n of the train with its mode projected on the basis.
Tensor<double> projected_core(const Tensor<double>& core, const Matrix<double>& basis) {
    const Shape shape = core.shape();
    const auto inside = core_in_basis(core, basis);
    Tensor<double> out(shape);
    for (Index a = 0; a < shape[0]; ++a) {
        const auto own = plain::product(basis.view(), inside.view().rows_from(a * basis.cols(), basis.cols()));
        std::copy_n(own.data(), own.size(), out.data() + a * own.size());
    }
    return out;
}

/// What one unit of a loading stands for: the rows' mode in its basis, the feature modes projected on theirs.
TensorTrain<double> tucker_rows(const MergedRows& rows, const std::vector<Matrix<double>>& bases) {
    const auto weighted = plain::turned_product(rows.weights.view(), bases.front().view());
    const auto turned = turned_features(rows.features, weighted);
    std::vector<Tensor<double>> cores;
    for (Index n = 0; n < turned.order(); ++n) {
        cores.push_back(projected_core(Tensor<double>::copy(turned.core(n)), bases[static_cast<std::size_t>(n + 1)]));
    }
    return TensorTrain<double>(std::move(cores));
}

/// Turns over the columns of the rows' mode whose part of the core has a negative entry of largest magnitude.
void settle_signs(Matrix<double>& basis, const Tensor<double>& core) {
    const auto parts = transpose(core.view().unfold(1));
    for (Index r = 0; r < basis.cols(); ++r) {
        const double sign = sign_of_largest(parts, r);
        for (Index i = 0; i < basis.rows(); ++i) basis(i, r) *= sign;
    }
}

Factors fit_bases(const MergedRows& rows, const FactorOptions& options) {
    const auto cores = cores_of(rows);
    const auto ranks = tucker_ranks(cores, options.components);
    auto fits = best_first(options, [&](std::uint64_t start) { return fit_tucker(cores, ranks, options, start); });
    std::stable_sort(fits.begin(), fits.end(),
                     [](const TuckerFit& a, const TuckerFit& b) { return a.error2 < b.error2; });
    TuckerFit& best = fits.front();
    for (std::size_t n = 1; n < best.bases.size(); ++n) {
        std::vector<Index> order(static_cast<std::size_t>(best.bases[n].cols()));
        std::iota(order.begin(), order.end(), Index{0});
        best.bases[n] = arranged(best.bases[n], order);
    }
    settle_signs(best.bases[0], tucker_core(cores, best.bases));
    Factors result;
    result.model = FactorModel::tucker;
    result.sweeps = best.sweeps;
    result.converged = best.converged;
    result.rows = tucker_rows(rows, best.bases);
    result.core = tucker_core(cores, best.bases);
    const double norm = rows.norm();
    for (double& value : result.core->elements()) value *= norm;
    const auto parts = result.core->view().unfold(1);
    for (Index r = 0; r < parts.rows; ++r) {
        result.weights.push_back(std::sqrt(plain::dot(parts.rows_from(r, 1), parts.rows_from(r, 1))));
    }
    for (std::size_t k = 0; k < fits.size(); ++k) {
        result.start_errors.push_back(std::sqrt(fits[k].error2));
        auto bases = std::move(fits[k].bases);
        bases.erase(bases.begin());
        if (k > 0) {
            result.others.push_back(std::move(bases));
        } else {
            result.factors = std::move(bases);
        }
    }
    return result;
}

}  // namespace

std::vector<Tensor<double>> cores_of(const MergedRows& rows) {
    const Index rank = rows.features.left_rank();
    std::vector<Tensor<double>> cores;
    cores.push_back(Tensor<double>::copy({rows.weights.data(), Shape{1, rank, rank}}));
    const double norm = rows.norm();
    for (double& value : cores.front().elements()) value /= norm;
    for (Index n = 0; n < rows.features.order(); ++n) cores.push_back(Tensor<double>::copy(rows.features.core(n)));
    return cores;
}

FactorModel parse_factor_model(std::string_view name) {
    for (const FactorModel model : {FactorModel::pca, FactorModel::cp, FactorModel::nncp, FactorModel::tucker}) {
        if (name == to_string(model)) return model;
    }
    throw InputError({"`model`", std::string(name), "pca, cp, nncp or tucker", ""});
}

std::string_view to_string(FactorModel model) noexcept {
    switch (model) {
        case FactorModel::pca:
            return "pca";
        case FactorModel::cp:
            return "cp";
        case FactorModel::nncp:
            return "nncp";
        case FactorModel::tucker:
            return "tucker";
    }
    return "";
}

Factors fit_factors(const MergedRows& rows, const FactorOptions& options) {
    require_options(rows, options);
    Factors result = options.model == FactorModel::pca      ? fit_pca(rows, options)
                     : options.model == FactorModel::tucker ? fit_bases(rows, options)
                                                            : fit_products(rows, options);
    result.rel_error = rel_error_on(rows, captured(rows.features, result.rows));
    return result;
}

Matrix<double> captured(const TensorTrain<double>& features, const TensorTrain<double>& model_rows) {
    const auto across = inner_products(model_rows, features);
    const auto gram = inner_products(model_rows, model_rows);
    const auto inverse = plain::power(plain::eigen(gram.view()), -1);
    return plain::turned_product(across.view(), plain::product(inverse.view(), across.view()).view());
}

double rel_error_on(const MergedRows& rows, const Matrix<double>& captured) {
    constexpr double rounding = 1e-15;  // of a sum of squares, for each direction
    const double norm = rows.norm();
    if (norm == 0) return 0;
    auto unit = Matrix<double>::copy(rows.weights.view());
    for (Index i = 0; i < unit.size(); ++i) unit.data()[i] /= norm;
    const auto moment = plain::turned_product(unit.view(), unit.view());
    const double rest = plain::dot(moment.view(), Matrix<double>::identity(unit.cols()).view()) -
                        plain::dot(moment.view(), captured.view());
    return std::sqrt(std::max(0.0, rest) + rounding * static_cast<double>(unit.cols()));
}

double certified_error(double rel_error_on_rows, double merge_bound) {
    return std::min(1.0, (1 + merge_bound) * rel_error_on_rows + merge_bound);
}

double certified_error_of_patients(double rel_error_on_patients, double rse, double sine) {
    const double kept = std::sqrt(std::max(0.0, 1 - rse));
    const double lost = std::sqrt(rse);
    const double error = std::min(1.0, rel_error_on_patients);
    const double inside = std::max(0.0, kept * std::sqrt(1 - error * error) - sine * lost);
    return std::min({1.0, kept * error + lost, std::sqrt(1 - inside * inside)});
}

double largest_sine(const Matrix<double>& captured, Index rows) {
    constexpr double rounding = 1e-14;
    const auto cosines2 = plain::eigen(captured.view()).values;
    const double least = cosines2[static_cast<std::size_t>(std::min<Index>(rows, captured.rows()) - 1)];
    return std::sqrt(std::clamp(1 - least + rounding, 0.0, 1.0));
}

bool looks_signed(const MergedRows& rows) {
    constexpr Index most_features = Index{1} << 24;
    constexpr double negligible = 1e-3;  // of the direction's square
    if (rows.features.shape().size() > most_features) return false;
    const auto leading = fit_pca(rows, {.model = FactorModel::pca, .components = 1}).rows.full();
    double positive = 0;
    double negative = 0;
    for (const double value : leading.elements()) (value < 0 ? negative : positive) += value * value;
    return std::min(positive, negative) > negligible * (positive + negative);
}

}  // namespace couplet
