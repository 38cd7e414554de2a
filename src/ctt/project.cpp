#include "couplet/ctt/project.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
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

/// The core of least squares against W itself where `fit` is against an orthonormal basis V of its rows: W = A V, so
/// G W = F V for G = F A^+.
Matrix<double> in_terms_of(const TensorTrain<double>& w, const Features& v, const Matrix<double>& fit) {
    const Index columns = w.shape().size();
    const auto wide_w = Matrix<double>::adopt(w.full().release(), w.left_rank(), columns);
    const auto wide_v = Matrix<double>::adopt(v.train.full().release(), v.train.left_rank(), columns);
    const auto a = product<double>(wide_w.view(), wide_v.view(), Op::none, Op::transpose);
    // With A = Y S Z^T, F A^+ = (F Z) S^-1 Y^T.
    const auto svd = truncated_svd<double>(a.view(), {});
    auto scaled = product<double>(fit.view(), svd.v.view());
    for (Index j = 0; j < scaled.cols(); ++j) {
        const double s = svd.sigma[static_cast<std::size_t>(j)];
        for (Index i = 0; i < scaled.rows(); ++i) scaled(i, j) *= s > 0 ? 1 / s : 0;
    }
    return product<double>(scaled.view(), svd.u.view(), Op::none, Op::transpose);
}

PersonalFit fit_to(const TensorTrain<double>& features, const TensorView<const double>& x) {
    if (is_right_orthonormal(features)) return refit(x, Features{features.clone(), {}, true});
    const Features basis = orthonormal_features(features);
    PersonalFit fit = refit(x, basis);
    fit.personal = in_terms_of(features, basis, fit.personal);
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
    const bool orthonormal = is_right_orthonormal(features);
    const Features basis = orthonormal ? Features{features.clone(), {}, true} : orthonormal_features(features);
    auto scaled = Tensor<double>::copy(x);
    const int exponent = make_known_squares_safe(scaled);
    const auto w =
        Matrix<double>::adopt(basis.train.full().release(), basis.train.left_rank(), basis.train.shape().size());
    KnownFit known = fit_known(scaled.view().unfold(1), w.view());
    const auto values = scaled.elements();
    const auto hidden = std::count_if(values.begin(), values.end(), [](double e) { return std::isnan(e); });
    Projection result{std::move(known.personal), known.norm2 > 0 ? known.error2 / known.norm2 : 0,
                      static_cast<double>(hidden) / static_cast<double>(scaled.size()), std::move(known.loose),
                      std::move(known.unknown)};
    if (!orthonormal) result.personal = in_terms_of(features, basis, result.personal);
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
