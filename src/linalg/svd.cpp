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
#include "couplet/linalg/magnitude.hpp"
#include "couplet/linalg/polish.hpp"
#include "couplet/linalg/qr.hpp"
#include "krylov.hpp"

namespace couplet {
namespace {

constexpr double unit_roundoff = std::numeric_limits<double>::epsilon() / 2;

struct Cut {
    Index rank;
    double tail2;
    bool limited;
};

/// Smallest rank whose tail is within max_tail, capped; `squares` descending and complete. The tail may be larger than
/// it looks by `margin2`, which counts in it where anything is cut.
Cut choose_rank(const std::vector<double>& squares, const SvdOptions& options, double margin2) {
    const Index n = static_cast<Index>(squares.size());
    const double allowed = options.max_tail * options.max_tail - margin2;
    Index rank = n;
    double tail2 = 0;
    while (rank > 1 && tail2 + squares[static_cast<std::size_t>(rank - 1)] <= allowed) {
        tail2 += squares[static_cast<std::size_t>(--rank)];
    }
    const bool limited = rank > options.max_rank;
    while (rank > options.max_rank) tail2 += squares[static_cast<std::size_t>(--rank)];
    return {rank, rank < n ? tail2 + margin2 : 0, limited};
}

std::vector<double> roots(const std::vector<double>& squares, Index count) {
    std::vector<double> result;
    for (Index i = 0; i < count; ++i) result.push_back(std::sqrt(std::max(0.0, squares[static_cast<std::size_t>(i)])));
    return result;
}

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

/// trace^2 / ||G||^2: how many equal eigenvalues would have this trace and norm.
double effective_rank(MatrixView<const double> g, double trace) {
    const double norm2 = squared_norm(g);
    return norm2 > 0 ? trace * trace / norm2 : 1;
}

Basis keep_everything(Index n) {
    Basis basis;
    basis.vectors = Matrix<double>::identity(n);
    return basis;
}

/// Applies A^T A (right) or A A^T (left) without forming it.
template <Real T>
SymmetricOperator gram_operator(MatrixView<const T> a, Side side) {
    return [a, side](MatrixView<const double> q) {
        const auto converted = convert<T>(q);
        const Op first = side == Side::right ? Op::none : Op::transpose;
        const Op second = side == Side::right ? Op::transpose : Op::none;
        auto image = product<T>(a, converted.view(), first);
        if constexpr (std::same_as<T, float>) {
            // The scale of a Krylov block is free, and A^T A of float data may leave the range of float.
            const double largest = max_magnitude<float>(image.view());
            const int exponent = largest > 0 && std::isfinite(largest) ? std::ilogb(largest) : 0;
            const float factor = std::ldexp(1.0F, std::clamp(-exponent, -120, 120));
            for (Index i = 0; i < image.size(); ++i) image.data()[i] *= factor;
        }
        return convert<double>(product<T>(a, image.view(), second).view());
    };
}

/// Block Krylov range finder; empty when the wanted tail is not reached or lies below what sums of squares
/// can show.
template <Real T>
std::optional<Basis> random_basis(MatrixView<const T> a, Side side, const SvdOptions& options) {
    constexpr Index oversampling = 10;
    const Index n = side == Side::right ? a.cols : a.rows;
    const double norm2 = squared_norm(a);
    const double limit = std::same_as<T, float> ? 1e-3 : gram_limit;
    if (options.max_tail > 0 && options.max_tail * options.max_tail < limit * limit * norm2) return std::nullopt;
    // Without a rank the first guess is a sixteenth of the side; each retry doubles it.
    Index guess = std::min(options.max_rank, options.max_tail > 0 ? std::max<Index>(8, n / 16) : n);
    const auto apply = gram_operator(a, side);
    while (guess + oversampling < n / 2) {
        const auto space = krylov_space(apply, n, {.block = guess + oversampling, .passes = 3, .seed = options.seed});
        const auto f = convert<T>(space.view());
        const auto image = side == Side::right ? product<T>(a, f.view()) : product<T>(a, f.view(), Op::transpose);
        const auto ritz = symmetric_eigen(gram<T>(image.view(), Side::right).view());
        std::vector<double> squares = ritz.values;
        double captured = 0;
        for (double& value : squares) captured += value = std::max(value, 0.0);
        squares.push_back(std::max(0.0, norm2 - captured));  // what no vector of the space explains
        // Products of float data round at about 1e-7 of the norm, squared or not.
        const double rounding =
            std::same_as<T, float> ? 4e-7 : gram_rounding(space.cols(), a.size() / n) + gram_rounding(1, a.size());
        const auto wanted = choose_rank(squares, options, rounding * norm2);
        // max_rank is to blame only when the space was made for that rank and still misses by far.
        const bool missed = wanted.limited && options.max_tail > 0 &&
                            (guess < options.max_rank || wanted.tail2 < 1.2 * options.max_tail * options.max_tail);
        if (wanted.rank < static_cast<Index>(squares.size()) && !missed) {
            const auto kept = leading_columns(ritz.vectors.view(), wanted.rank);
            Basis basis{product<double>(space.view(), kept.view()), roots(squares, wanted.rank), wanted.tail2,
                        wanted.limited, SvdMethod::random};
            apply_sign_rule(basis.vectors.view());
            return basis;
        }
        if (guess >= options.max_rank) return std::nullopt;
        guess = std::min(2 * guess, options.max_rank);
    }
    return std::nullopt;
}

/// The basis a Gram matrix gave, polished on the data; nothing where that does not make it exact.
std::optional<Basis> polished(MatrixView<const double> a, Side side, const Basis& basis, double norm2,
                              const SvdOptions& options) {
    if (basis.vectors.cols() == basis.vectors.rows()) return std::nullopt;
    auto result = basis_from_factor(polished_factor(a, side, basis.vectors).view(), options);
    const double residual2 = residual_norm2(a, side, result.vectors);
    if (!(residual2 <= polished_residual * polished_residual * norm2)) return std::nullopt;
    result.tail2 = std::max(result.tail2, residual2);
    result.method = SvdMethod::gram;
    return result;
}

/// Basis of the short side.
template <Real T>
Basis short_basis(MatrixView<const T> a, Side side, const SvdOptions& options) {
    const Index n = side == Side::right ? a.cols : a.rows;
    if (options.max_tail == 0 && options.max_rank >= n) return keep_everything(n);
    const Index terms = a.size() / n;
    const double floor = gram_floor(n, terms);
    SvdMethod method = options.method;
    // Random pays when its passes (3 of 4 |A| l flops, plus the projection) undercut the Gram by a wide
    // margin.
    const bool very_low_rank = options.max_rank < n && n >= 2000 && 40 * (options.max_rank + 10) < n;
    if (method == SvdMethod::automatic && very_low_rank) method = SvdMethod::random;
    if (method == SvdMethod::random) {
        auto basis = random_basis(a, side, options);
        if (basis && gram_suffices(*basis, squared_norm(a), options.max_tail, floor)) return std::move(*basis);
        method = SvdMethod::automatic;
    }
    if (method != SvdMethod::qr) {
        const auto g = gram(a, side);
        double norm2 = 0;
        for (Index i = 0; i < n; ++i) norm2 += g(i, i);
        const bool reachable = options.max_tail * options.max_tail >= floor * floor * norm2;
        if (method == SvdMethod::gram || reachable || options.max_rank < n) {
            auto basis = basis_from_gram(g.view(), options, terms);
            if (method == SvdMethod::gram || gram_suffices(basis, norm2, options.max_tail, floor)) return basis;
            if constexpr (std::same_as<T, double>) {
                if (auto exact = polished(a, side, basis, norm2, options)) return std::move(*exact);
            }
        }
    }
    return basis_from_factor(triangular_factor(a, side).view(), options);
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
    double trace = 0;
    for (Index i = 0; i < n; ++i) trace += g(i, i);
    const double margin2 = gram_rounding(n, terms) * trace;
    Basis basis;
    if (options.max_tail == 0) {
        // A few eigenvectors of many: block Krylov, unless the spectrum is too flat for it to settle.
        constexpr double settled = 1e-9;
        std::optional<SymmetricEigen> eigen;
        if (n >= 128 && 5 * options.max_rank <= n && effective_rank(g, trace) < static_cast<double>(options.max_rank)) {
            eigen = krylov_eigen(g, options.max_rank, settled);
        }
        if (!eigen) eigen = symmetric_eigen(g, options.max_rank);
        basis.sigma = roots(eigen->values, options.max_rank);
        double kept = 0;
        for (const double value : eigen->values) kept += value;
        basis.tail2 = std::max(0.0, trace - kept) + margin2;
        basis.rank_limited = basis.tail2 > 0;
        basis.vectors = std::move(eigen->vectors);
        return basis;
    }
    const TridiagonalForm form(g);
    // No more than max_rank can be kept: the others matter only as a sum, which the trace knows.
    const bool few = options.max_rank < n / 2;
    auto squares = few ? form.top_values(options.max_rank) : form.values();
    double rest = trace;
    for (double& value : squares) rest -= value = std::max(value, 0.0);
    if (few) squares.push_back(std::max(0.0, rest));
    const auto cut = choose_rank(squares, options, margin2);
    basis.sigma = roots(squares, cut.rank);
    basis.tail2 = cut.tail2;
    basis.rank_limited = cut.limited;
    squares.resize(static_cast<std::size_t>(cut.rank));
    basis.vectors = 3 * cut.rank > 2 * n ? symmetric_eigen(g, cut.rank).vectors : form.top_vectors(squares);
    return basis;
}

Basis basis_from_factor(MatrixView<const double> s, const SvdOptions& options) {
    const Index n = s.cols;
    if (options.max_tail == 0 && options.max_rank >= n) return keep_everything(n);
    const Index least = std::min(s.rows, n);
    auto work = Matrix<double>::copy(s);
    std::vector<double> sigma(static_cast<std::size_t>(least));
    Matrix<double> left(least, n);  // column-major n x least: the vectors we want
    Matrix<double> right(s.rows, least);
    blas::gesdd(n, s.rows, work.data(), sigma.data(), left.data(), right.data());
    std::vector<double> squares;
    for (const double value : sigma) squares.push_back(value * value);
    const auto cut = choose_rank(squares, options, 0);
    Basis basis;
    basis.method = SvdMethod::qr;
    basis.sigma.assign(sigma.begin(), sigma.begin() + cut.rank);
    basis.tail2 = cut.tail2;
    basis.rank_limited = cut.limited;
    basis.vectors = transpose(left.view().rows_from(0, cut.rank));
    apply_sign_rule(basis.vectors.view());
    return basis;
}

template <Real T>
Basis dominant_basis(MatrixView<const T> a, Side side, const SvdOptions& options) {
    require_usable(a, options);
    if (const int exponent = scaled_norm(a).exponent; exponent != 0) {
        auto basis = dominant_basis<double>(scaled_copy(a, -exponent).view(), side, scaled_options(options, -exponent));
        restore_magnitude(basis, exponent);
        return basis;
    }
    const Index own = side == Side::right ? a.cols : a.rows;
    const Index other = side == Side::right ? a.rows : a.cols;
    if (own <= other) return short_basis(a, side, options);
    const Side short_side = side == Side::right ? Side::left : Side::right;
    Basis basis = short_basis(a, short_side, options);
    basis.vectors = opposite_vectors(a, short_side, basis);
    apply_sign_rule(basis.vectors.view());
    return basis;
}

template <Real T>
TruncatedSvd<T> truncated_svd(MatrixView<const T> a, const SvdOptions& options) {
    require_usable(a, options);
    if (const int exponent = scaled_norm(a).exponent; exponent != 0) {
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
    Basis basis = short_basis(a, side, options);
    if (basis.sigma.empty()) {
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
