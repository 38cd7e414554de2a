#include "couplet/tt/tt_svd.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <sstream>
#include <string>
#include <utility>

#include "centre.hpp"
#include "couplet/core/error.hpp"
#include "couplet/linalg/polish.hpp"
#include "couplet/linalg/products.hpp"
#include "couplet/linalg/qr.hpp"
#include "limits.hpp"
#include "peel.hpp"
#include "scaled_cores.hpp"

namespace couplet {
namespace {

/// Squares of the norm outside this range lose digits to underflow or overflow; the tensor is scaled first.
template <Real T>
bool squares_are_safe(double norm2) {
    constexpr double low = std::same_as<T, float> ? 1e-50 : 1e-200;
    constexpr double high = std::same_as<T, float> ? 1e70 : 1e280;
    return norm2 > low && norm2 < high;
}

template <Real T>
class Decomposition {
  public:
    Decomposition(Centre<T> centre, const Shape& shape, const TtSvdOptions& options)
        : centre_(std::move(centre)), shape_(shape), options_(options) {
        limits_ = squeezed_limits(shape, bond_limits(options, shape));
        errors2_.assign(limits_.size(), 0.0);
    }

    TtSvdResult<T> run() {
        const auto bonds = static_cast<Index>(centre_.modes.size()) - 1;
        while (centre_.last - centre_.first > 1) {
            report(options_.progress, "decompose", bonds - static_cast<Index>(centre_.last - centre_.first - 1), bonds);
            const End end = choose_end(centre_, limits_);
            if (!peel(end)) return zero_train();
        }
        if (!norm2_ && !measure_norm()) return zero_train();
        report(options_.progress, "decompose", bonds, bonds);
        return assemble();
    }

  private:
    /// Takes the squared norm from whoever computed it first. Rescales and returns false when it cannot be
    /// used as it is: a zero tensor (zero_ is set then), or magnitudes whose squares overflow or vanish.
    bool establish_norm(double norm2) {
        if (squares_are_safe<T>(norm2)) {
            norm2_ = norm2;
            return true;
        }
        const MatrixView<const T> all(centre_.data, 1, centre_.size());
        if (!std::isfinite(norm2)) require_finite(TensorView<const T>(centre_.data, shape_), "tensor");
        const double largest = max_magnitude(all);
        if (largest == 0) {
            zero_ = true;
            return false;
        }
        exponent_ = -std::ilogb(largest);
        rescale(centre_, exponent_);
        norm2_ = squared_norm(MatrixView<const T>(centre_.data, 1, centre_.size()));
        rescaled_ = true;
        return true;
    }

    /// The norm of a tensor that nothing was cut from: its entries stay exactly as they are. Returns false when
    /// it is zero.
    bool measure_norm() {
        const MatrixView<const T> all(centre_.data, 1, centre_.size());
        double norm2 = squared_norm(all);
        if (!squares_are_safe<T>(norm2)) {
            if (!std::isfinite(norm2)) require_finite(TensorView<const T>(centre_.data, shape_), "tensor");
            const double largest = max_magnitude(all);
            if (largest == 0) return false;
            norm_exponent_ = std::ilogb(largest);
            norm2 = 0;
            for (Index i = 0; i < all.cols; ++i) {
                const double x = std::ldexp(static_cast<double>(centre_.data[i]), -norm_exponent_);
                norm2 += x * x;
            }
        }
        norm2_ = norm2;
        return true;
    }

    SvdOptions cut_options(const BondLimit& limit) const {
        const double norm = std::sqrt(*norm2_);
        // The float projection itself rounds at 6e-8 of the norm: that much of the tail is already spent.
        const double rounding = std::same_as<T, float> ? 4e-7 : 0;
        const double tail = limit.eps == 0 ? 0 : std::max(limit.eps - rounding, 1e-3 * limit.eps) * norm;
        return {.max_tail = tail, .max_rank = limit.max_rank, .method = options_.method, .seed = options_.seed};
    }

    /// Cuts of a group, from the outside in.
    std::vector<SvdOptions> cuts(const End& end) const {
        std::vector<SvdOptions> result;
        for (std::size_t j = 0; j < end.count; ++j) result.push_back(cut_options(limit(end, j)));
        return result;
    }

    const BondLimit& limit(const End& end, std::size_t j) const { return limit_at(centre_, limits_, end.side, j); }

    bool keeps_all(const End& end) const {
        Index own = outer_bond(end);
        const auto modes = group_modes(end);
        for (std::size_t j = 0; j < end.count; ++j) {
            own *= end.side == Side::left ? modes[j] : modes[end.count - 1 - j];
            if (limit(end, j).eps > 0 || limit(end, j).max_rank < own) return false;
        }
        return true;
    }

    /// Whether a Gram matrix can be accurate enough, as far as the limits tell before it is computed.
    bool gram_can(const End& end) const {
        for (std::size_t j = 0; j < end.count; ++j) {
            const BondLimit& bond = limit(end, j);
            if (bond.eps > 0 && bond.eps < gram_limit && bond.max_rank >= end.own) return false;
        }
        return true;
    }

    MatrixView<const T> matrix(const End& end) const {
        return end.side == Side::left ? centre_.split_left(end.own) : centre_.split_right(end.own);
    }

    std::vector<Index> group_modes(const End& end) const {
        const auto begin =
            centre_.modes.begin() +
            static_cast<std::ptrdiff_t>(end.side == Side::left ? centre_.first : centre_.last - end.count);
        return {begin, begin + static_cast<std::ptrdiff_t>(end.count)};
    }

    Index outer_bond(const End& end) const { return end.side == Side::left ? centre_.left : centre_.right; }

    /// Returns false when the tensor turned out to be zero.
    bool peel(const End& end) {
        if (keeps_all(end)) {
            take(end, whole(end));
            return true;
        }
        // A group of tiny modes has nothing for a random projection to gain and several bonds to cut.
        if (options_.method == SvdMethod::random && end.count == 1) {
            if (!norm2_ && !establish_norm(squared_norm(matrix(end))) && zero_) return false;
            take(end, peel_random(end));
            return true;
        }
        if (options_.method != SvdMethod::qr && gram_can(end)) {
            auto g = gram(matrix(end), end.side);
            if (!norm2_) {
                double trace = 0;
                for (Index i = 0; i < g.rows(); ++i) trace += g(i, i);
                if (!establish_norm(trace)) return false;
                if (std::exchange(rescaled_, false)) g = gram(matrix(end), end.side);
            }
            auto peeled = peel_gram(std::move(g), end.side, group_modes(end), outer_bond(end), cuts(end));
            // Nothing better than the float projection's rounding is to be had for float data.
            bool good = peeled.trusted || options_.method == SvdMethod::gram || std::same_as<T, float>;
            if constexpr (std::same_as<T, double>) {
                if (!good) {
                    auto polished = polish(end, peeled.map);
                    good = polished.has_value();
                    if (good) peeled = std::move(*polished);
                }
            }
            if (good) {
                note_method(SvdMethod::gram);
                take(end, std::move(peeled));
                return true;
            }
        }
        if (!norm2_ && !establish_norm(squared_norm(matrix(end)))) return false;
        rescaled_ = false;
        auto factor = triangular_factor(matrix(end), end.side);
        note_method(SvdMethod::qr);
        take(end, peel_factor(std::move(factor), end.side, group_modes(end), outer_bond(end), cuts(end)));
        return true;
    }

    /// The group as cores that cut nothing: identities.
    PeeledEnd whole(const End& end) const {
        PeeledEnd result;
        Index bond = outer_bond(end);
        auto modes = group_modes(end);
        if (end.side == Side::right) std::ranges::reverse(modes);
        for (const Index size : modes) {
            auto identity = Matrix<double>::identity(bond * size);
            const Shape shape =
                end.side == Side::left ? Shape{bond, size, bond * size} : Shape{bond * size, size, bond};
            result.cores.emplace_back(shape, std::move(identity).release());
            bond *= size;
        }
        if (end.side == Side::right) std::ranges::reverse(result.cores);
        result.rank = bond;
        return result;
    }

    /// The Gram matrix's map after one step of subspace iteration on the data itself. Nothing when the explicit
    /// residual is still not negligible.
    std::optional<PeeledEnd> polish(const End& end, const Matrix<double>& map) requires std::same_as<T, double> {
        if (map.size() == 0) return std::nullopt;
        const MatrixView<const double> data = matrix(end);
        auto peeled =
            peel_factor(polished_factor(data, end.side, map), end.side, group_modes(end), outer_bond(end), cuts(end));
        if (peeled.map.size() == 0) return std::nullopt;
        const double residual2 = residual_norm2(data, end.side, peeled.map);
        if (!(residual2 <= polished_residual * polished_residual * *norm2_)) return std::nullopt;
        double known = 0;
        for (const double tail2 : peeled.tails2) known += tail2;
        peeled.tails2.back() += std::max(0.0, residual2 - known);
        return peeled;
    }

    PeeledEnd peel_random(const End& end) {
        const auto basis = dominant_basis(matrix(end), end.side, cuts(end).front());
        note_method(basis.method);
        PeeledEnd result;
        result.rank = basis.vectors.cols();
        result.tails2 = {basis.tail2};
        result.rank_limited = basis.rank_limited;
        result.map = Matrix<double>::copy(basis.vectors.view());
        const Index bond = outer_bond(end);
        const Index size = end.own / bond;
        if (end.side == Side::left) {
            result.cores.emplace_back(Shape{bond, size, result.rank},
                                      Matrix<double>::copy(basis.vectors.view()).release());
        } else {
            result.cores.emplace_back(Shape{result.rank, size, bond}, transpose(basis.vectors.view()).release());
        }
        return result;
    }

    void note_method(SvdMethod method) {
        if (method_ == SvdMethod::automatic) method_ = method;
    }

    void take(const End& end, PeeledEnd peeled) {
        for (std::size_t j = 0; j < peeled.tails2.size(); ++j) {
            errors2_[end.side == Side::left ? centre_.first + j : centre_.last - 2 - j] += peeled.tails2[j];
        }
        rank_limited_ = rank_limited_ || peeled.rank_limited;
        if (peeled.map.size() > 0) project(centre_, end, peeled.map, options_.consumed);
        if (end.side == Side::left) {
            centre_.first += end.count;
            centre_.left = peeled.rank;
            for (auto& core : peeled.cores) left_cores_.push_back(std::move(core));
        } else {
            centre_.last -= end.count;
            centre_.right = peeled.rank;
            for (auto it = peeled.cores.rbegin(); it != peeled.cores.rend(); ++it)
                right_cores_.push_back(std::move(*it));
        }
    }

    Tensor<T> centre_core() {
        const Shape shape{centre_.left, centre_.modes[centre_.first], centre_.right};
        if (exponent_ == 0 && centre_.owned.size() > 0) return Tensor<T>(shape, std::move(centre_.owned));
        Tensor<T> core(shape);
        scale_by_power(centre_.data, core.size(), -exponent_, core.data());
        return core;
    }

    static Tensor<T> narrowed(const Tensor<double>& core) {
        Tensor<T> result(core.shape());
        std::transform(core.data(), core.data() + core.size(), result.data(),
                       [](double x) { return static_cast<T>(x); });
        return result;
    }

    /// Puts the cores in order, with identities for the modes of size 1 that were left out.
    TtSvdResult<T> assemble() {
        std::vector<Tensor<T>> dense;
        std::vector<Orthogonality> kinds;
        for (const auto& core : left_cores_) dense.push_back(narrowed(core));
        kinds.assign(left_cores_.size(), Orthogonality::left);
        dense.push_back(centre_core());
        kinds.push_back(Orthogonality::none);
        for (auto it = right_cores_.rbegin(); it != right_cores_.rend(); ++it) dense.push_back(narrowed(*it));
        kinds.resize(dense.size(), Orthogonality::right);

        std::vector<Tensor<T>> cores;
        std::vector<Orthogonality> orthogonality;
        std::size_t next = 0;
        Index bond = 1;
        const auto centre_at = left_cores_.size();
        for (Index n = 0; n < shape_.order(); ++n) {
            const bool kept = shape_[n] > 1 || (n == kept_singleton());
            if (kept) {
                bond = dense[next].shape()[2];
                cores.push_back(std::move(dense[next]));
                orthogonality.push_back(kinds[next]);
                ++next;
            } else {
                auto identity = Matrix<T>::identity(bond);
                cores.emplace_back(Shape{bond, 1, bond}, std::move(identity).release());
                orthogonality.push_back(next <= centre_at ? Orthogonality::left : Orthogonality::right);
            }
        }
        TtSvdResult<T> result;
        result.train = TensorTrain<T>(std::move(cores), std::move(orthogonality));
        result.norm = std::ldexp(std::sqrt(*norm2_), norm_exponent_ - exponent_);
        result.bond_errors2 = spread_errors();
        double error2 = 0;
        for (const double e : result.bond_errors2) error2 += e;
        result.rel_error = std::sqrt(error2);
        result.rank_limited = rank_limited_ && error2 > 0;
        result.method = method_ == SvdMethod::automatic ? SvdMethod::gram : method_;
        return result;
    }

    /// Relative squared errors of the original bonds: that of a squeezed bond belongs to the first of those it stands
    /// for.
    std::vector<double> spread_errors() const {
        std::vector<double> result(static_cast<std::size_t>(shape_.order() - 1), 0.0);
        std::size_t next = 0;
        for (Index n = 0; n + 1 < shape_.order() && next < errors2_.size(); ++n) {
            if (shape_[n] > 1) result[static_cast<std::size_t>(n)] = errors2_[next++] / *norm2_;
        }
        return result;
    }

    /// A tensor of ones in every mode keeps its first mode as the centre.
    Index kept_singleton() const {
        return std::ranges::all_of(shape_.sizes(), [](Index s) { return s == 1; }) ? 0 : -1;
    }

    TtSvdResult<T> zero_train() const {
        std::vector<Tensor<T>> cores;
        for (const Index size : shape_.sizes()) cores.push_back(Tensor<T>::zeros({1, size, 1}));
        TtSvdResult<T> result;
        result.train = TensorTrain<T>(std::move(cores));
        result.method = options_.method == SvdMethod::automatic ? SvdMethod::gram : options_.method;
        result.bond_errors2.assign(static_cast<std::size_t>(shape_.order() - 1), 0.0);
        return result;
    }

    Centre<T> centre_;
    Shape shape_;
    TtSvdOptions options_;
    std::vector<BondLimit> limits_;  ///< of the bonds between modes larger than 1
    std::optional<double> norm2_;
    bool zero_ = false;
    bool rescaled_ = false;
    int exponent_ = 0;       ///< the centre is 2^exponent_ times what it stands for
    int norm_exponent_ = 0;  ///< the norm is 2^norm_exponent_ times the root of norm2_ (times 2^-exponent_)
    std::vector<double> errors2_;
    bool rank_limited_ = false;
    SvdMethod method_ = SvdMethod::automatic;
    std::vector<Tensor<double>> left_cores_;
    std::vector<Tensor<double>> right_cores_;  ///< from the outside in
};

TtSvdResult<float> in_double(TensorView<const float> x, const TtSvdOptions& options) {
    Tensor<double> wide(x.shape());
    std::copy_n(x.data(), x.size(), wide.data());
    // Rounding the cores to float takes its share of eps; below that share no train of floats can meet it.
    constexpr double rounding = 4e-7;
    TtSvdOptions tightened = options;
    const auto tighten = [](double& eps) { eps = std::max(eps - rounding, 1e-3 * eps); };
    tighten(tightened.eps);
    for (auto& bond : tightened.bonds) tighten(bond.eps);
    auto result = tt_svd(std::move(wide), tightened);
    std::vector<Tensor<float>> cores;
    std::vector<Orthogonality> kinds;
    for (Index n = 0; n < result.train.order(); ++n) {
        Tensor<float> core(result.train.core(n).shape());
        std::transform(result.train.core(n).data(), result.train.core(n).data() + core.size(), core.data(),
                       [](double v) { return static_cast<float>(v); });
        cores.push_back(std::move(core));
        kinds.push_back(result.train.orthogonality(n));
    }
    return {TensorTrain<float>(std::move(cores), std::move(kinds)),
            result.rel_error,
            std::move(result.bond_errors2),
            result.norm,
            result.rank_limited,
            result.method};
}

}  // namespace

template <Real T>
TtSvdResult<T> tt_svd(TensorView<const T> x, const TtSvdOptions& options) {
    check_tensor(x.shape());
    check_method(options, x.shape());
    if constexpr (std::same_as<T, float>) {
        if (needs_double(options, x.shape())) return in_double(x, options);
    }
    return Decomposition<T>(start_centre(x.data(), x.shape()), x.shape(), options).run();
}

template <Real T>
TtSvdResult<T> tt_svd(Tensor<T>&& x, const TtSvdOptions& options) {
    check_tensor(x.shape());
    check_method(options, x.shape());
    if constexpr (std::same_as<T, float>) {
        if (needs_double(options, x.shape())) return in_double(x.view(), options);
    }
    const Shape shape = x.shape();
    auto centre = start_centre<T>(x.data(), shape);
    centre.owned = std::move(x).release();
    return Decomposition<T>(std::move(centre), shape, options).run();
}

template TtSvdResult<float> tt_svd(TensorView<const float>, const TtSvdOptions&);
template TtSvdResult<double> tt_svd(TensorView<const double>, const TtSvdOptions&);
template TtSvdResult<float> tt_svd(Tensor<float>&&, const TtSvdOptions&);
template TtSvdResult<double> tt_svd(Tensor<double>&&, const TtSvdOptions&);

}  // namespace couplet
