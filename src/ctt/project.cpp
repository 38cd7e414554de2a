#include "couplet/ctt/project.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <optional>
#include <utility>

#include "couplet/core/error.hpp"
#include "couplet/ctt/known_fit.hpp"
#include "couplet/ctt/refit.hpp"
#include "couplet/linalg/magnitude.hpp"
#include "couplet/linalg/products.hpp"
#include "couplet/linalg/svd.hpp"

namespace couplet {
namespace {

/// Whether W W^T = I to rounding, from the cores alone: their rows are then orthonormal.
bool is_right_orthonormal(const TensorTrain<double>& train) {
    for (Index n = 0; n < train.order(); ++n) {
        const auto g = gram(train.right_unfolding(n), Side::left);
        for (Index i = 0; i < g.rows(); ++i) {
            for (Index j = 0; j < g.cols(); ++j) {
                if (!(std::abs(g(i, j) - (i == j ? 1.0 : 0.0)) < 1e-10)) return false;
            }
        }
    }
    return true;
}

/// Orthonormal rows V that span those of features W, and B with G W = F V for G = F B: a core F against V becomes one
/// against W itself.
struct Terms {
    Features basis;
    std::optional<Matrix<double>> back;  ///< none: W is orthonormal itself
};

/// Directions of W that are rounding beside its largest are no part of it: a core would need entries beyond all measure
/// to reach them.
Terms terms_of(const TensorTrain<double>& w) {
    if (is_right_orthonormal(w)) return {{w.clone(), {}, true}, std::nullopt};
    Features v = orthonormal_features(w);
    const Index columns = w.shape().size();
    const auto wide_w = Matrix<double>::adopt(w.full().release(), w.left_rank(), columns);
    const auto wide_v = Matrix<double>::adopt(v.train.full().release(), v.train.left_rank(), columns);
    // W = A V. With A = Y S Z^T and V' = Z^T V, W = Y S V' and B = S^-1 Y^T.
    const auto a = product<double>(wide_w.view(), wide_v.view(), Op::none, Op::transpose);
    const auto svd = truncated_svd<double>(a.view(), {});
    const double least =
        static_cast<double>(std::max(columns, a.rows())) * std::numeric_limits<double>::epsilon() * svd.sigma.front();
    const auto kept = std::max<Index>(1, std::ranges::count_if(svd.sigma, [&](double sigma) { return sigma > least; }));
    auto back = transpose(leading_columns(svd.u.view(), kept).view());
    for (Index i = 0; i < kept; ++i) {
        const double sigma = svd.sigma[static_cast<std::size_t>(i)];
        for (Index j = 0; j < back.cols(); ++j) back(i, j) *= sigma > 0 ? 1 / sigma : 0;
    }
    auto cores = std::move(v.train).release();
    const Shape first = cores[0].shape();
    auto turned = product<double>(leading_columns(svd.v.view(), kept).view(), cores[0].view().unfold(1), Op::transpose);
    cores[0] = Tensor<double>({kept, first[1], first[2]}, std::move(turned).release());
    return {{TensorTrain<double>(std::move(cores)), {}, true}, std::move(back)};
}

Matrix<double> in_terms(const Terms& terms, Matrix<double> fit) {
    return terms.back ? product<double>(fit.view(), terms.back->view()) : std::move(fit);
}

PersonalFit fit_to(const TensorTrain<double>& features, const TensorView<const double>& x) {
    const Terms terms = terms_of(features);
    PersonalFit fit = refit(x, terms.basis);
    fit.personal = in_terms(terms, std::move(fit.personal));
    return fit;
}

Projection fitted(const TensorTrain<double>& features, const TensorView<const double>& x) {
    PersonalFit fit = fit_to(features, x);
    return {std::move(fit.personal), fit.norm2 > 0 ? fit.error2 / fit.norm2 : 0, 0, {}, {}};
}

/// make_squares_safe() where some values are not known.
int make_known_squares_safe(Tensor<double>& x) {
    std::vector<double> known;
    std::ranges::copy_if(x.elements(), std::back_inserter(known), [](double e) { return !std::isnan(e); });
    const int exponent = make_squares_safe(known);
    if (exponent != 0) scale_by_power(x.data(), x.size(), -exponent, x.data());
    return exponent;
}

/// Data of a largest value in [2^exponent, 2^(exponent + 1)). A core of denormal numbers would be rounded more than
/// the error that was computed says.
void restore_magnitude(Matrix<double>& personal, int exponent, const std::string& where) {
    if (exponent < std::numeric_limits<double>::min_exponent - 1) {
        throw InputError({where, "no value above 2.2e-308", "zeros, or values that a personal core can be of",
                          "Scale the data first."});
    }
    with_exponent(max_magnitude<double>(personal.view()), exponent, where, "a personal core");
    scale_by_power(personal.data(), personal.size(), exponent, personal.data());
}

}  // namespace

Projection project_incomplete(const TensorTrain<double>& features, const TensorView<const double>& x,
                              const std::string& where) {
    const Terms terms = terms_of(features);
    const TensorTrain<double>& basis = terms.basis.train;
    auto scaled = Tensor<double>::copy(x);
    const int exponent = make_known_squares_safe(scaled);
    const auto w = Matrix<double>::adopt(basis.full().release(), basis.left_rank(), basis.shape().size());
    KnownFit known = fit_known(scaled.view().unfold(1), w.view());
    const auto values = scaled.elements();
    const auto hidden = std::count_if(values.begin(), values.end(), [](double e) { return std::isnan(e); });
    Projection result{std::move(known.personal), known.norm2 > 0 ? known.error2 / known.norm2 : 0,
                      static_cast<double>(hidden) / static_cast<double>(scaled.size()), std::move(known.loose),
                      std::move(known.unknown)};
    result.personal = in_terms(terms, std::move(result.personal));
    restore_magnitude(result.personal, exponent, where);
    return result;
}

Projection project(const TensorTrain<double>& features, const TensorView<const double>& x, const std::string& where) {
    require_finite(x, where);
    if (scaled_norm(x.unfold(1)).exponent == 0) return fitted(features, x);
    // The error is relative and the core linear in the patients: a power of two changes neither.
    auto scaled = Tensor<double>::copy(x);
    const int exponent = make_squares_safe(scaled.elements());
    Projection result = fitted(features, scaled.view());
    restore_magnitude(result.personal, exponent, where);
    return result;
}

}  // namespace couplet
