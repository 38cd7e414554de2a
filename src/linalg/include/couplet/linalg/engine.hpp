#pragma once

#include <algorithm>
#include <concepts>
#include <optional>
#include <utility>
#include <vector>

#include "couplet/linalg/source.hpp"
#include "couplet/linalg/svd.hpp"

/// Which engine finds the space of an end is decided here, once for matrices and tensors.
namespace couplet {

/// What a cut may discard, as far as the choice of an engine goes: a tail of eps times the norm of the data (0: none,
/// the rank alone cuts), and never more than max_rank.
struct CutLimit {
    double eps = 0;
    Index max_rank = std::numeric_limits<Index>::max();
};

/// Residual, relative to the norm, below which a polished space counts as exact: nothing beside any tail that is
/// allowed, which the cut of the polished factor may use up.
double allowed_residual(const std::vector<CutLimit>& limits) noexcept;

/// Whether a Gram matrix of this order, its entries sums of `terms` products, can be accurate enough for the cut, as
/// far as that is known before it is computed.
bool gram_can_show(const CutLimit& cut, Index order, Index terms) noexcept;

/// Whether a block Krylov range finder undercuts the Gram matrix by a wide margin: a very small rank of a large order.
bool random_pays(const CutLimit& cut, Index order) noexcept;

/// Block Krylov range finder; nothing when the wanted tail is not reached or lies below what sums of squares can show.
/// `norm2` is the squared norm of the data. Cost: 3 reads and more, 12 |A| l flops for l = rank + 10.
std::optional<Basis> random_basis(const Source& source, double norm2, const SvdOptions& options);

/// What cut_end needs of whoever turns a summary into a result.
template <class C>
concept Cutter = requires(C& cutter, const C& constant, const typename C::Result& result, typename C::Result& own) {
    /// The cuts, one for a matrix, several for a group of modes.
    { constant.limits() } -> std::same_as<std::vector<CutLimit>>;
    /// Takes the squared norm from whoever computes it first. False ends the attempt: the data is zero, or it has to be
    /// scaled before anything is computed from its squares.
    { cutter.accept_norm(double{}) } -> std::same_as<bool>;
    { constant.knows_norm() } -> std::same_as<bool>;
    /// The squared norm, once accepted, and the first cut in absolute numbers.
    { constant.norm2() } -> std::same_as<double>;
    { constant.first_cut() } -> std::same_as<SvdOptions>;
    { cutter.from_gram(std::declval<Summary>()) } -> std::same_as<typename C::Result>;
    { cutter.from_factor(std::declval<Matrix<double>>()) } -> std::same_as<typename C::Result>;
    { cutter.from_basis(std::declval<Basis>()) } -> std::same_as<typename C::Result>;
    /// Whether a Gram matrix was accurate enough for every cut of the result.
    { constant.trusts(result) } -> std::same_as<bool>;
    /// The columns that were kept, or null when nothing was cut.
    { constant.map_of(result) } -> std::same_as<const Matrix<double>*>;
    /// A result from a polished factor, which left this much of the data, at right angles to what was cut since.
    { cutter.add_residual(own, double{}) } -> std::same_as<void>;
};

/// Cuts one end of the data: random where it was asked for or pays, else a Gram matrix where it can show what is cut,
/// polished where it turns out that it could not, else a triangle. Nothing when the cutter did not accept the norm.
template <Cutter C>
std::optional<typename C::Result> cut_end(const Source& source, SvdMethod method, C& cutter) {
    const std::vector<CutLimit> limits = cutter.limits();
    const Index order = source.order();
    const Index terms = source.terms();
    const bool single = limits.size() == 1;  // a group of tiny modes has nothing for a random projection to gain
    if (method == SvdMethod::automatic && single && random_pays(limits.front(), order)) method = SvdMethod::random;
    if (method == SvdMethod::random && single) {
        // Of what is left of the data: the norm that the cutter knows may be that of more.
        const double norm2 = source.squared_norm();
        if (!cutter.knows_norm() && !cutter.accept_norm(norm2)) return std::nullopt;
        const SvdOptions cut = cutter.first_cut();
        auto basis = random_basis(source, norm2, cut);
        if (basis && gram_suffices(*basis, norm2, cut.max_tail, gram_floor(order, terms))) {
            return cutter.from_basis(std::move(*basis));
        }
    }
    if (method == SvdMethod::random) method = SvdMethod::automatic;
    const bool shown =
        std::ranges::all_of(limits, [&](const CutLimit& cut) { return gram_can_show(cut, order, terms); });
    if (method == SvdMethod::gram || (method == SvdMethod::automatic && shown)) {
        auto summary = source.summarise(Summary::Kind::gram);
        if (!cutter.knows_norm() && !cutter.accept_norm(summary.norm2())) return std::nullopt;
        auto result = cutter.from_gram(std::move(summary));
        // Nothing better than the rounding of a projection is to be had for float data.
        if (method == SvdMethod::gram || source.is_float() || cutter.trusts(result)) return result;
        if (const Matrix<double>* map = cutter.map_of(result)) {
            auto [factor, residual2] = source.polish(*map);
            const double allowed = allowed_residual(limits);
            if (residual2 <= allowed * allowed * cutter.norm2()) {
                auto polished = cutter.from_factor(std::move(factor));
                cutter.add_residual(polished, residual2);
                return polished;
            }
        }
    }
    if (!cutter.knows_norm() && !cutter.accept_norm(source.squared_norm())) return std::nullopt;
    return cutter.from_factor(source.summarise(Summary::Kind::triangle).release());
}

}  // namespace couplet
