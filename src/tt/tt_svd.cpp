#include "couplet/tt/tt_svd.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <utility>

#include "centre.hpp"
#include "couplet/core/error.hpp"
#include "couplet/linalg/engine.hpp"
#include "couplet/linalg/magnitude.hpp"
#include "limits.hpp"
#include "peel.hpp"
#include "storage.hpp"

namespace couplet {
namespace {

/// Squares of double can be squared again where this says so; float numbers themselves leave their range much earlier.
template <Real T>
bool is_safe(double norm2) {
    return std::same_as<T, float> ? norm2 > 1e-50 && norm2 < 1e70 : squares_are_safe(norm2);
}

/// What a tensor's norm says about it.
enum class Magnitude { zero, safe, rescaled };

/// Counts what rounding may have done to the train in its error; bond_errors2 holds the tails, and each bond takes its
/// share of the rounding.
template <Real T>
void add_rounding(TtSvdResult<T>& result, double rounding) {
    double tails2 = 0;
    for (const double e : result.bond_errors2) tails2 += e;
    result.rel_error = std::sqrt(tails2) + rounding;
    const double total2 = result.rel_error * result.rel_error;
    for (double& e : result.bond_errors2) {
        e = tails2 > 0 ? e / tails2 * total2 : total2 / static_cast<double>(result.bond_errors2.size());
    }
}

template <Real T>
class Decomposition {
  public:
    Decomposition(std::unique_ptr<TensorSource<T>> source, const Shape& shape, const TtSvdOptions& options)
        : source_(std::move(source)), centre_(start_centre(shape)), shape_(shape), options_(options) {
        limits_ = squeezed_limits(shape, bond_limits(options, shape));
        errors2_.assign(limits_.size(), 0.0);
    }

    TtSvdResult<T> run() {
        const auto bonds = static_cast<Index>(centre_.modes.size()) - 1;
        while (centre_.last - centre_.first > 1) {
            report(options_.progress, "decompose", bonds - static_cast<Index>(centre_.last - centre_.first - 1), bonds);
            const bool left = source_->offers_left(centre_.last - centre_.first);
            const End end = choose_end(centre_, limits_, left ? Offered::both : Offered::right);
            if (peel(end) == Magnitude::zero) return zero_train();
        }
        if (!norm2_ && measure_norm() == Magnitude::zero) return zero_train();
        report(options_.progress, "decompose", bonds, bonds);
        return assemble();
    }

  private:
    /// Takes the squared norm from whoever computed it first, once. A tensor whose squares overflow or vanish is
    /// rescaled: what was computed from it before is to be computed again.
    Magnitude establish_norm(double norm2) {
        if (is_safe<T>(norm2)) {
            norm2_ = norm2;
            return Magnitude::safe;
        }
        if (!std::isfinite(norm2)) source_->require_finite(shape_, "tensor");
        const double largest = source_->max_magnitude();
        if (largest == 0) return Magnitude::zero;
        exponent_ = magnitude_exponent(largest);
        source_ = std::move(*source_).scale(-exponent_);
        norm2_ = source_->norm().squares;
        return Magnitude::rescaled;
    }

    /// The norm of a tensor that nothing was cut from: its entries stay exactly as they are.
    Magnitude measure_norm() {
        const auto size = source_->norm();
        if (size.squares == 0) return Magnitude::zero;
        if (!std::isfinite(size.squares)) source_->require_finite(shape_, "tensor");
        norm2_ = size.squares;
        norm_exponent_ = size.exponent;
        return Magnitude::safe;
    }

    /// What computing and storing one cut of this end rounds, relative to the norm: a projection, a core, and of float
    /// the core's share of the others.
    double cut_rounding(const End& end) const {
        constexpr double stored = std::same_as<T, float> ? 2 * std::numeric_limits<float>::epsilon() : 0;
        return projection_rounding<T>(end.own) + stored;
    }

    /// Cuts of a group, from the outside in. Roundings add up where tails add as squares, and both must stay within
    /// what is allowed.
    std::vector<SvdOptions> cuts(const End& end) const {
        const double norm = std::sqrt(*norm2_);
        const double reserve = std::sqrt(static_cast<double>(limits_.size())) * cut_rounding(end);
        std::vector<SvdOptions> result;
        for (std::size_t j = 0; j < end.count; ++j) {
            const BondLimit& bond = limit(end, j);
            const double tail = bond.eps == 0 ? 0 : std::max(bond.eps - reserve, 1e-3 * bond.eps) * norm;
            result.push_back(
                {.max_tail = tail, .max_rank = bond.max_rank, .method = options_.method, .seed = options_.seed});
        }
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

    std::vector<Index> group_modes(const End& end) const {
        const auto begin =
            centre_.modes.begin() +
            static_cast<std::ptrdiff_t>(end.side == Side::left ? centre_.first : centre_.last - end.count);
        return {begin, begin + static_cast<std::ptrdiff_t>(end.count)};
    }

    Index outer_bond(const End& end) const { return end.side == Side::left ? centre_.left : centre_.right; }

    /// How the engines see a group of modes: its limits, and what becomes of a summary.
    class GroupCutter {
      public:
        using Result = PeeledEnd;

        GroupCutter(Decomposition& whole, const End& end)
            : whole_(whole), end_(end), modes_(whole.group_modes(end)), bond_(whole.outer_bond(end)) {}

        std::vector<CutLimit> limits() const {
            std::vector<CutLimit> result;
            for (std::size_t j = 0; j < end_.count; ++j) {
                const BondLimit& bond = whole_.limit(end_, j);
                result.push_back({bond.eps, bond.max_rank});
            }
            return result;
        }
        bool knows_norm() const { return whole_.norm2_.has_value(); }
        bool accept_norm(double norm2) {
            magnitude_ = whole_.establish_norm(norm2);
            return magnitude_ == Magnitude::safe;
        }
        double norm2() const { return *whole_.norm2_; }
        SvdOptions first_cut() const { return whole_.cuts(end_).front(); }
        PeeledEnd from_gram(Summary summary) {
            const Index terms = summary.terms();
            return peel_gram(std::move(summary).release(), end_.side, modes_, bond_, whole_.cuts(end_), terms);
        }
        PeeledEnd from_factor(Matrix<double> factor) {
            return peel_factor(std::move(factor), end_.side, modes_, bond_, whole_.cuts(end_));
        }
        PeeledEnd from_basis(const Basis& basis) { return peel_basis(basis, end_.side, modes_.front(), bond_); }
        bool trusts(const PeeledEnd& peeled) const { return peeled.trusted; }
        const Matrix<double>* map_of(const PeeledEnd& peeled) const { return peeled.map ? &*peeled.map : nullptr; }
        void add_residual(PeeledEnd& peeled, double residual2) {
            peeled.tails2.back() += residual2;
            peeled.method = SvdMethod::gram;
        }
        /// What the norm turned out to be when it was not accepted.
        Magnitude magnitude() const { return magnitude_; }

      private:
        Decomposition& whole_;
        const End& end_;
        std::vector<Index> modes_;
        Index bond_;
        Magnitude magnitude_ = Magnitude::safe;
    };

    /// zero when that is what the tensor turned out to be.
    Magnitude peel(const End& end) {
        if (keeps_all(end)) {
            take(end, peel_nothing(end.side, group_modes(end), outer_bond(end)));
            return Magnitude::safe;
        }
        GroupCutter cutter(*this, end);
        auto peeled = cut_end(*source_->end(end.side, end.own), options_.method, cutter);
        if (!peeled && cutter.magnitude() == Magnitude::rescaled) {
            peeled = cut_end(*source_->end(end.side, end.own), options_.method, cutter);
        }
        if (!peeled) return Magnitude::zero;
        note_method(peeled->method);
        take(end, std::move(*peeled));
        return Magnitude::safe;
    }

    void note_method(SvdMethod method) {
        if (method_ == SvdMethod::automatic) method_ = method;
    }

    void take(const End& end, PeeledEnd peeled) {
        for (std::size_t j = 0; j < peeled.tails2.size(); ++j) {
            errors2_[end.side == Side::left ? centre_.first + j : centre_.last - 2 - j] += peeled.tails2[j];
        }
        rank_limited_ = rank_limited_ || peeled.rank_limited;
        if (peeled.map) {
            source_ = std::move(*source_).project(end.side, *peeled.map, options_.consumed);
            rounding_ += projection_rounding<T>(end.own);
        }
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

    /// Puts the cores in order, with identities for the modes of size 1 that were left out.
    TtSvdResult<T> assemble() {
        CoreStore<T> store;
        std::vector<Tensor<T>> dense;
        std::vector<Orthogonality> kinds;
        for (auto& core : left_cores_) dense.push_back(store.orthonormal(std::move(core), Orthogonality::left));
        kinds.assign(left_cores_.size(), Orthogonality::left);
        dense.push_back(
            store.carrier(std::move(*source_).take({centre_.left, centre_.modes[centre_.first], centre_.right}),
                          exponent_, std::sqrt(*norm2_)));
        kinds.push_back(Orthogonality::none);
        for (auto it = right_cores_.rbegin(); it != right_cores_.rend(); ++it) {
            dense.push_back(store.orthonormal(std::move(*it), Orthogonality::right));
        }
        kinds.resize(dense.size(), Orthogonality::right);
        rounding_ += store.rounding();

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
        result.norm = with_exponent(std::sqrt(*norm2_), norm_exponent_ + exponent_, "tensor", "a norm");
        result.bond_errors2 = spread_errors();
        double error2 = 0;
        for (const double e : result.bond_errors2) error2 += e;
        result.rank_limited = rank_limited_ && error2 > 0;
        add_rounding(result, rounding_);
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

    std::unique_ptr<TensorSource<T>> source_;
    Centre centre_;
    Shape shape_;
    TtSvdOptions options_;
    std::vector<BondLimit> limits_;  ///< of the bonds between modes larger than 1
    std::optional<double> norm2_;
    int exponent_ = 0;       ///< the centre stands for 2^exponent_ times itself
    int norm_exponent_ = 0;  ///< of a norm2_ that was scaled although the centre is not
    double rounding_ = 0;    ///< bound on what projecting and storing changed, relative to the norm
    std::vector<double> errors2_;
    bool rank_limited_ = false;
    SvdMethod method_ = SvdMethod::automatic;
    std::vector<Tensor<double>> left_cores_;
    std::vector<Tensor<double>> right_cores_;  ///< from the outside in
};

TtSvdResult<float> in_double(TensorView<const float> x, const TtSvdOptions& options) {
    // Rounding the cores to float takes its share of eps; below that share no train of floats can meet it.
    constexpr double rounding = 4e-7;
    TtSvdOptions tightened = options;
    const auto tighten = [](double& eps) { eps = std::max(eps - rounding, 1e-3 * eps); };
    tighten(tightened.eps);
    for (auto& bond : tightened.bonds) tighten(bond.eps);
    auto result = tt_svd(convert<double>(x), tightened);
    CoreStore<float> store;
    std::vector<Tensor<float>> cores;
    std::vector<Orthogonality> kinds;
    for (Index n = 0; n < result.train.order(); ++n) kinds.push_back(result.train.orthogonality(n));
    std::size_t n = 0;
    for (auto& core : std::move(result.train).release()) {
        const Orthogonality kind = kinds[n++];
        cores.push_back(kind == Orthogonality::none ? store.carrier(std::move(core), 0, result.norm)
                                                    : store.orthonormal(std::move(core), kind));
    }
    TtSvdResult<float> single{TensorTrain<float>(std::move(cores), std::move(kinds)),
                              result.rel_error,
                              std::move(result.bond_errors2),
                              result.norm,
                              result.rank_limited,
                              result.method};
    add_rounding(single, store.rounding());
    return single;
}

}  // namespace

template <Real T>
TtSvdResult<T> tt_svd(std::unique_ptr<TensorSource<T>> x, const Shape& shape, const TtSvdOptions& options) {
    check_tensor(shape);
    check_method(options, shape);
    if (x->size() != shape.size()) {
        throw InputError({"tensor", std::to_string(x->size()) + " elements",
                          std::to_string(shape.size()) + ", as its shape " + shape.to_string() + " has", ""});
    }
    return Decomposition<T>(std::move(x), shape, options).run();
}

template <Real T>
TtSvdResult<T> tt_svd(TensorView<const T> x, const TtSvdOptions& options) {
    check_tensor(x.shape());
    check_method(options, x.shape());
    if constexpr (std::same_as<T, float>) {
        if (needs_double(options, x.shape())) return in_double(x, options);
    }
    return tt_svd(dense_source(x), x.shape(), options);
}

template <Real T>
TtSvdResult<T> tt_svd(Tensor<T>&& x, const TtSvdOptions& options) {
    check_tensor(x.shape());
    check_method(options, x.shape());
    if constexpr (std::same_as<T, float>) {
        if (needs_double(options, x.shape())) return in_double(x.view(), options);
    }
    const Shape shape = x.shape();
    return tt_svd(dense_source(std::move(x)), shape, options);
}

template TtSvdResult<float> tt_svd(std::unique_ptr<TensorSource<float>>, const Shape&, const TtSvdOptions&);
template TtSvdResult<double> tt_svd(std::unique_ptr<TensorSource<double>>, const Shape&, const TtSvdOptions&);
template TtSvdResult<float> tt_svd(TensorView<const float>, const TtSvdOptions&);
template TtSvdResult<double> tt_svd(TensorView<const double>, const TtSvdOptions&);
template TtSvdResult<float> tt_svd(Tensor<float>&&, const TtSvdOptions&);
template TtSvdResult<double> tt_svd(Tensor<double>&&, const TtSvdOptions&);

}  // namespace couplet
