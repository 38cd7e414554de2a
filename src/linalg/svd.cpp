#include "couplet/linalg/svd.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <sstream>
#include <string>

#include "blas.hpp"
#include "couplet/core/error.hpp"
#include "couplet/linalg/eigen.hpp"
#include "couplet/linalg/engine.hpp"
#include "couplet/linalg/magnitude.hpp"
#include "couplet/linalg/qr.hpp"
#include "jacobi.hpp"
#include "lanczos.hpp"
#include "rank_cut.hpp"

namespace couplet {
namespace {

constexpr double unit_roundoff = std::numeric_limits<double>::epsilon() / 2;

template <Real T>
void require_usable(MatrixView<const T> a, const SvdOptions& options) {
    if (a.rows < 1 || a.cols < 1) {
        throw InputError({"truncated SVD", std::to_string(a.rows) + "x" + std::to_string(a.cols),
                          "a matrix with at least one element", ""});
    }
    if (options.max_rank < 1) {
        throw InputError({"max_rank", std::to_string(options.max_rank), "at least 1", ""});
    }
    if (!(options.max_tail >= 0)) {
        throw InputError({"max_tail", (std::ostringstream() << options.max_tail).str(), "a number of at least 0", ""});
    }
}

template <Real T>
ScaledNorm norm_of(MatrixView<const T> a, const SvdOptions& options) {
    return options.norm2 ? ScaledNorm{*options.norm2, 0} : scaled_norm(a);
}

Basis keep_everything(Index n) {
    Basis basis;
    basis.vectors = Matrix<double>::identity(n);
    basis.extent = Extent::whole;
    return basis;
}

/// One cut of a matrix.
class MatrixCutter {
  public:
    using Result = Basis;

    MatrixCutter(double norm2, const SvdOptions& options) : norm2_(norm2), options_(options) {}

    std::vector<CutLimit> limits() const {
        const double eps = norm2_ > 0 ? options_.max_tail / std::sqrt(norm2_) : 1;
        return {{options_.max_tail > 0 ? eps : 0, options_.max_rank}};
    }
    bool knows_norm() const { return true; }
    bool accept_norm(double) { return true; }
    double norm2() const { return norm2_; }
    SvdOptions first_cut() const { return options_; }

    Basis from_gram(const Summary& summary) {
        auto basis = basis_from_gram(summary.matrix().view(), options_, summary.terms());
        trusted_ = gram_suffices(basis, norm2_, options_.max_tail, gram_floor(summary.order(), summary.terms()));
        return basis;
    }
    Basis from_factor(const Matrix<double>& factor) { return basis_from_factor(factor.view(), options_); }
    Basis from_basis(Basis basis) { return basis; }
    bool trusts(const Basis&) const { return trusted_; }
    const Matrix<double>* map_of(const Basis& basis) const {
        return basis.vectors.cols() < basis.vectors.rows() ? &basis.vectors : nullptr;
    }
    void add_residual(Basis& basis, double residual2) {
        basis.tail2 += residual2;
        basis.method = SvdMethod::gram;
    }

  private:
    double norm2_;
    SvdOptions options_;
    bool trusted_ = false;
};

/// Basis of the short side of a matrix with this squared norm.
template <Real T>
Basis short_basis(MatrixView<const T> a, Side side, double norm2, const SvdOptions& options) {
    const DenseEnd<T> end(a, side);
    if (options.max_tail == 0 && options.max_rank >= end.order()) return keep_everything(end.order());
    MatrixCutter cutter(norm2, options);
    return *cut_end(end, options.method, cutter);
}

/// op(A) times the basis of the other side: U = A V / sigma or V = A^T U / sigma, orthonormal again
/// afterwards because the division loses it like u (sigma_1 / sigma)^2.
template <Real T>
Matrix<double> opposite_vectors(MatrixView<const T> a, Side have, const Basis& basis) {
    const auto converted = convert<T>(basis.vectors.view());
    const auto image = product<T>(a, converted.view(), have == Side::right ? Op::none : Op::transpose);
    auto vectors = convert<double>(image.view());
    orthonormalise_columns(vectors.view());
    return vectors;
}

template <Real T>
Matrix<double> scaled_copy(MatrixView<const T> a, int exponent) {
    Matrix<double> result(a.rows, a.cols);
    for (Index i = 0; i < a.rows; ++i) scale_by_power(a.row(i), a.cols, exponent, result.view().row(i));
    return result;
}

SvdOptions scaled_options(SvdOptions options, int exponent) {
    options.max_tail = std::ldexp(options.max_tail, exponent);
    return options;
}

/// Singular values and tail of a matrix that was 2^exponent times as large.
template <class Result>
void restore_magnitude(Result& result, int exponent) {
    // The smallest may vanish beside the largest, which may not.
    if (!result.sigma.empty()) with_exponent(result.sigma.front(), exponent, "truncated SVD", "a singular value");
    for (double& value : result.sigma) value = std::ldexp(value, exponent);
    result.tail2 = with_exponent(result.tail2, 2 * exponent, "truncated SVD", "a squared tail");
}

/// The basis of a factor whose singular vectors are these rows, with as many of them as the cut keeps.
Basis basis_from_rows(MatrixView<const double> rows, const std::vector<double>& squares, const SvdOptions& options) {
    const auto cut = choose_rank(squares, options, 0);
    Basis basis;
    basis.method = SvdMethod::qr;
    basis.sigma = roots(squares, cut.rank);
    basis.tail2 = cut.tail2;
    basis.rank_limited = cut.limited;
    basis.vectors = transpose(rows.rows_from(0, cut.rank));
    apply_sign_rule(basis.vectors.view());
    return basis;
}

/// Nothing where a row that is kept is too short to have a direction, or too long to have a square.
std::optional<Basis> basis_from_few_rows(Matrix<double> factor, const SvdOptions& options) {
    constexpr double shortest2 = 1e-280;
    const auto squares = orthogonalise_rows(factor);
    if (squares.empty() || !std::isfinite(squares.front())) return std::nullopt;
    const auto rank = choose_rank(squares, options, 0).rank;
    if (!(squares[static_cast<std::size_t>(rank - 1)] > shortest2)) return std::nullopt;
    for (Index i = 0; i < rank; ++i) {
        const double scale = 1 / std::sqrt(squares[static_cast<std::size_t>(i)]);
        for (Index j = 0; j < factor.cols(); ++j) factor(i, j) *= scale;
    }
    return basis_from_rows(factor.view(), squares, options);
}

}  // namespace

std::string_view to_string(SvdMethod method) noexcept {
    switch (method) {
        case SvdMethod::automatic:
            return "auto";
        case SvdMethod::gram:
            return "gram";
        case SvdMethod::qr:
            return "qr";
        case SvdMethod::random:
            return "random";
    }
    return "auto";
}

double gram_rounding(Index n, Index terms) noexcept {
    return unit_roundoff * (32 + static_cast<double>(n) + 4 * std::sqrt(static_cast<double>(terms)));
}

double gram_floor(Index n, Index terms) noexcept {
    return std::max(gram_limit, 4 * std::sqrt(gram_rounding(n, terms)));
}

bool gram_suffices(const Basis& basis, double norm2, double max_tail, double floor) noexcept {
    const double limit2 = floor * floor * norm2;
    return basis.vectors.rows() == basis.vectors.cols() || norm2 == 0 || max_tail * max_tail >= limit2 ||
           basis.tail2 >= limit2;
}

Basis basis_from_gram(MatrixView<const double> g, const SvdOptions& options, Index terms) {
    const Index n = g.rows;
    if (options.max_tail == 0 && options.max_rank >= n) return keep_everything(n);
    const double norm2 = trace(g);
    const double margin2 = gram_rounding(n, terms) * norm2;
    // No more than max_rank can be kept: the others matter only as a sum, which the trace knows.
    constexpr double settled = 1e-9;
    std::optional<SymmetricEigen> leading;
    if (lanczos_pays(g, options.max_rank)) leading = lanczos_eigen(g, options.max_rank, settled);
    Basis basis;
    if (options.max_tail == 0) {
        if (!leading) leading = symmetric_eigen(g, options.max_rank);
        basis.sigma = roots(leading->values, options.max_rank);
        double kept = 0;
        for (const double value : leading->values) kept += value;
        basis.tail2 = std::max(0.0, norm2 - kept) + margin2;
        basis.rank_limited = basis.tail2 > 0;
        basis.vectors = std::move(leading->vectors);
        return basis;
    }
    std::optional<TridiagonalForm> form;
    if (!leading) form.emplace(g);
    const bool few = leading || options.max_rank < n / 2;
    auto squares = leading ? leading->values : few ? form->top_values(options.max_rank) : form->values();
    double rest = norm2;
    for (double& value : squares) rest -= value = std::max(value, 0.0);
    if (few) squares.push_back(std::max(0.0, rest));
    const auto cut = choose_rank(squares, options, margin2);
    basis.sigma = roots(squares, cut.rank);
    basis.tail2 = cut.tail2;
    basis.rank_limited = cut.limited;
    squares.resize(static_cast<std::size_t>(cut.rank));
    basis.vectors = leading ? leading_columns(leading->vectors.view(), cut.rank) : form->top_vectors(squares);
    return basis;
}

Basis basis_from_factor(MatrixView<const double> s, const SvdOptions& options) {
    const Index n = s.cols;
    if (options.max_tail == 0 && options.max_rank >= n) return keep_everything(n);
    auto factor = Matrix<double>::copy(s);
    if (s.rows <= s.cols && s.rows <= most_jacobi_rows) {
        if (auto basis = basis_from_few_rows(std::move(factor), options)) return std::move(*basis);
        factor = Matrix<double>::copy(s);
    }
    const Index least = std::min(s.rows, n);
    std::vector<double> sigma(static_cast<std::size_t>(least));
    Matrix<double> left(least, n);  // column-major n x least: the vectors we want
    Matrix<double> right(s.rows, least);
    blas::gesdd(n, s.rows, factor.data(), sigma.data(), left.data(), right.data());
    std::vector<double> squares;
    for (const double value : sigma) squares.push_back(value * value);
    return basis_from_rows(left.view(), squares, options);
}

template <Real T>
Basis dominant_basis(MatrixView<const T> a, Side side, const SvdOptions& options) {
    require_usable(a, options);
    const auto norm = norm_of(a, options);
    if (const int exponent = norm.exponent; exponent != 0) {
        auto basis = dominant_basis<double>(scaled_copy(a, -exponent).view(), side, scaled_options(options, -exponent));
        restore_magnitude(basis, exponent);
        return basis;
    }
    const Index own = side == Side::right ? a.cols : a.rows;
    const Index other = side == Side::right ? a.rows : a.cols;
    if (own <= other) return short_basis(a, side, norm.squares, options);
    const Side short_side = side == Side::right ? Side::left : Side::right;
    Basis basis = short_basis(a, short_side, norm.squares, options);
    basis.vectors = opposite_vectors(a, short_side, basis);
    apply_sign_rule(basis.vectors.view());
    return basis;
}

template <Real T>
TruncatedSvd<T> truncated_svd(MatrixView<const T> a, const SvdOptions& options) {
    require_usable(a, options);
    const auto norm = norm_of(a, options);
    if (const int exponent = norm.exponent; exponent != 0) {
        auto svd = truncated_svd<double>(scaled_copy(a, -exponent).view(), scaled_options(options, -exponent));
        restore_magnitude(svd, exponent);
        return {convert<T>(svd.u.view()), std::move(svd.sigma),
                convert<T>(svd.v.view()), svd.tail2,
                svd.rank_limited,         svd.method};
    }
    const Side side = a.cols <= a.rows ? Side::right : Side::left;
    SvdOptions complete = options;
    const Index n = std::min(a.rows, a.cols);
    // An uncut basis is the identity, which has no singular values: ask for all vectors instead.
    Basis basis = short_basis(a, side, norm.squares, options);
    if (basis.extent == Extent::whole) {
        complete.max_tail = 0;
        complete.max_rank = n;
        auto factor = triangular_factor(a, side);
        // A vanishing tail makes the engine decompose where it would otherwise keep everything.
        complete.max_tail = std::numeric_limits<double>::min();
        basis = basis_from_factor(factor.view(), complete);
    }
    auto opposite = opposite_vectors(a, side, basis);
    TruncatedSvd<T> result;
    auto& u = side == Side::right ? opposite : basis.vectors;
    auto& v = side == Side::right ? basis.vectors : opposite;
    for (Index j = 0; j < u.cols(); ++j) {
        // Flip both, so that the product stays and U follows the sign rule.
        Index at = 0;
        for (Index i = 1; i < u.rows(); ++i) {
            if (std::abs(u(i, j)) > std::abs(u(at, j))) at = i;
        }
        if (u(at, j) >= 0) continue;
        for (Index i = 0; i < u.rows(); ++i) u(i, j) = -u(i, j);
        for (Index i = 0; i < v.rows(); ++i) v(i, j) = -v(i, j);
    }
    result.u = convert<T>(u.view());
    result.v = convert<T>(v.view());
    result.sigma = std::move(basis.sigma);
    result.tail2 = basis.tail2;
    result.rank_limited = basis.rank_limited;
    result.method = basis.method;
    return result;
}

template <Real T>
void apply_sign_rule(MatrixView<T> columns) {
    std::vector<Index> at(static_cast<std::size_t>(columns.cols), 0);
    for (Index i = 1; i < columns.rows; ++i) {
        for (Index j = 0; j < columns.cols; ++j) {
            auto& best = at[static_cast<std::size_t>(j)];
            if (std::abs(columns(i, j)) > std::abs(columns(best, j))) best = i;
        }
    }
    for (Index j = 0; j < columns.cols; ++j) {
        if (columns.rows == 0 || columns(at[static_cast<std::size_t>(j)], j) >= 0) continue;
        for (Index i = 0; i < columns.rows; ++i) columns(i, j) = -columns(i, j);
    }
}

template Basis dominant_basis(MatrixView<const float>, Side, const SvdOptions&);
template Basis dominant_basis(MatrixView<const double>, Side, const SvdOptions&);
template TruncatedSvd<float> truncated_svd(MatrixView<const float>, const SvdOptions&);
template TruncatedSvd<double> truncated_svd(MatrixView<const double>, const SvdOptions&);
template void apply_sign_rule(MatrixView<float>);
template void apply_sign_rule(MatrixView<double>);

}  // namespace couplet
