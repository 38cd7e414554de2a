#include "couplet/tt/rounding.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <sstream>
#include <utility>

#include "couplet/core/error.hpp"
#include "couplet/linalg/products.hpp"
#include "couplet/linalg/qr.hpp"
#include "scaled_cores.hpp"
#include "storage.hpp"

namespace couplet {
namespace {

/// A (rows x cols) = Q R, Q orthonormal with min(rows, cols) columns.
struct ThinQr {
    Matrix<double> q;
    Matrix<double> r;
};

ThinQr thin_qr(Matrix<double> a) {
    if (a.rows() >= a.cols()) {
        auto r = orthonormalise_columns(a.view());
        return {std::move(a), std::move(r)};
    }
    // A wide block: its first rows columns give Q, everything else follows by projection.
    auto square = leading_columns<double>(a.view(), a.rows());
    orthonormalise_columns(square.view());
    auto r = product<double>(square.view(), a.view(), Op::transpose);
    return {std::move(square), std::move(r)};
}

/// The core as a matrix with `cols` columns, in the same memory.
Matrix<double> unfolded(Tensor<double>&& core, Index cols) {
    const Index rows = core.size() / cols;
    return Matrix<double>::adopt(std::move(core).release(), rows, cols);
}

/// Brings core n back to magnitude about 1: the products of a sweep grow with the length of the train.
void rescale(ScaledCores& scaled, std::size_t n) {
    auto& core = scaled.cores[n];
    const int shift = magnitude_exponent(max_magnitude<double>(core.view().unfold(0)));
    if (shift == 0) return;
    scale_by_power(core.data(), core.size(), -shift, core.data());
    scaled.exponent += shift;
}

void sweep_left(ScaledCores& scaled) {
    auto& cores = scaled.cores;
    for (std::size_t n = 0; n + 1 < cores.size(); ++n) {
        const Shape shape = cores[n].shape();
        auto [q, r] = thin_qr(unfolded(std::move(cores[n]), shape[2]));
        auto next = product<double>(r.view(), cores[n + 1].view().unfold(1));
        const Index rank = q.cols();
        const Shape next_shape = cores[n + 1].shape();
        cores[n] = Tensor<double>({shape[0], shape[1], rank}, std::move(q).release());
        cores[n + 1] = Tensor<double>({rank, next_shape[1], next_shape[2]}, std::move(next).release());
        rescale(scaled, n + 1);
    }
}

void sweep_right(ScaledCores& scaled) {
    auto& cores = scaled.cores;
    for (std::size_t n = cores.size() - 1; n > 0; --n) {
        const Shape shape = cores[n].shape();
        auto [q, r] = thin_qr(transpose<double>(cores[n].view().unfold(1)));
        auto before = product<double>(cores[n - 1].view().unfold(2), r.view(), Op::none, Op::transpose);
        const Index rank = q.cols();
        const Shape before_shape = cores[n - 1].shape();
        cores[n] = Tensor<double>({rank, shape[1], shape[2]}, transpose(q.view()).release());
        cores[n - 1] = Tensor<double>({before_shape[0], before_shape[1], rank}, std::move(before).release());
        rescale(scaled, n - 1);
    }
}

template <Real T>
struct Rebuilt {
    TensorTrain<T> train;
    double rounding = 0;  ///< what storing it changed, relative to the norm
};

/// Back to T, with the power of two given to one core, which carries the norm. The cores are moved from.
template <Real T>
Rebuilt<T> rebuild(ScaledCores& scaled, std::size_t carrier, std::vector<Orthogonality> kinds, double norm,
                   const Labels& labels) {
    CoreStore<T> store;
    std::vector<Tensor<T>> cores;
    for (std::size_t n = 0; n < scaled.cores.size(); ++n) {
        auto& core = scaled.cores[n];
        cores.push_back(n == carrier ? store.carrier(std::move(core), scaled.exponent, norm)
                                     : store.orthonormal(std::move(core), kinds[n]));
    }
    TensorTrain<T> train(std::move(cores), std::move(kinds));
    train.set_labels(labels);
    return {std::move(train), store.rounding()};
}

double core_norm(const Tensor<double>& core) { return std::sqrt(squared_norm(core.view().unfold(0))); }

double scaled_back(double norm, int exponent) { return with_exponent(norm, exponent, "tensor train", "a norm"); }

std::vector<Orthogonality> all_but(std::size_t order, std::size_t which, Orthogonality kind) {
    std::vector<Orthogonality> kinds(order, kind);
    kinds[which] = Orthogonality::none;
    return kinds;
}

}  // namespace

ScaledNorm swept_norm(ScaledCores scaled) {
    sweep_left(scaled);
    return {squared_norm<double>(scaled.cores.back().view().unfold(0)), scaled.exponent};
}

template <Real T>
Orthonormalised<T> left_orthonormalise(TensorTrain<T>&& train) {
    const Labels labels = train.labels();
    auto scaled = scaled_cores(std::move(train));
    sweep_left(scaled);
    const double norm = core_norm(scaled.cores.back());
    const int exponent = scaled.exponent;
    const auto order = scaled.cores.size();
    auto kinds = all_but(order, order - 1, Orthogonality::left);
    return {rebuild<T>(scaled, order - 1, std::move(kinds), norm, labels).train, scaled_back(norm, exponent)};
}

template <Real T>
Orthonormalised<T> right_orthonormalise(TensorTrain<T>&& train) {
    const Labels labels = train.labels();
    auto scaled = scaled_cores(std::move(train));
    sweep_right(scaled);
    const double norm = core_norm(scaled.cores.front());
    const int exponent = scaled.exponent;
    auto kinds = all_but(scaled.cores.size(), 0, Orthogonality::right);
    return {rebuild<T>(scaled, 0, std::move(kinds), norm, labels).train, scaled_back(norm, exponent)};
}

template <Real T>
TtSvdResult<T> round(const TensorTrain<T>& train, const RoundOptions& options) {
    if (!(options.eps >= 0 && options.eps < 1)) {
        throw InputError({"eps", (std::ostringstream() << options.eps).str(), "a number with 0 <= eps < 1", ""});
    }
    if (options.max_rank < 1) throw InputError({"max_rank", std::to_string(options.max_rank), "at least 1", ""});
    auto scaled = scaled_cores(train);
    auto& cores = scaled.cores;
    sweep_left(scaled);
    const double norm = core_norm(cores.back());
    const auto order = cores.size();
    TtSvdResult<T> result;
    if (norm == 0) {
        std::vector<Tensor<T>> zeros;
        for (Index n = 0; n < train.order(); ++n) {
            zeros.push_back(Tensor<T>::zeros({n == 0 ? train.left_rank() : 1, train.shape()[n], 1}));
        }
        result.train = TensorTrain<T>(std::move(zeros));
        result.train.set_labels(train.labels());
        result.method = SvdMethod::qr;
        return result;
    }
    // Roundings add up where tails add as squares: both must stay within eps.
    const double bonds = std::max<double>(1, static_cast<double>(order - 1));
    const double stored = std::same_as<T, float> ? 3 * std::numeric_limits<float>::epsilon() : 0;
    const double bond_eps = options.eps / std::sqrt(bonds);
    double tail2 = 0;
    double rounding = 0;
    for (std::size_t n = order - 1; n > 0; --n) {
        const Shape shape = cores[n].shape();
        const double cut_rounding = projection_rounding<double>(shape[1] * shape[2]);
        const double reserve = std::sqrt(bonds) * (cut_rounding + stored);
        const double tail = options.eps == 0 ? 0 : std::max(bond_eps - reserve, 1e-3 * bond_eps) * norm;
        // Cores are small: the accurate engine costs little and reports errors down to rounding.
        const auto basis =
            dominant_basis<double>(cores[n].view().unfold(1), Side::right,
                                   {.max_tail = tail, .max_rank = options.max_rank, .method = SvdMethod::qr});
        const auto carried = product<double>(cores[n].view().unfold(1), basis.vectors.view());  // R_{n-1} x r
        auto before = product<double>(cores[n - 1].view().unfold(2), carried.view());
        const Shape before_shape = cores[n - 1].shape();
        const Index rank = basis.vectors.cols();
        cores[n] = Tensor<double>({rank, shape[1], shape[2]}, transpose(basis.vectors.view()).release());
        cores[n - 1] = Tensor<double>({before_shape[0], before_shape[1], rank}, std::move(before).release());
        tail2 += basis.tail2;
        rounding += cut_rounding;
        result.rank_limited = result.rank_limited || basis.rank_limited;
        result.method = basis.method;
    }
    result.norm = scaled_back(norm, scaled.exponent);
    auto rebuilt = rebuild<T>(scaled, 0, all_but(order, 0, Orthogonality::right), norm, train.labels());
    result.train = std::move(rebuilt.train);
    result.rel_error = std::sqrt(tail2) / norm + rounding + rebuilt.rounding;
    return result;
}

#define COUPLET_INSTANTIATE(T)                                          \
    template Orthonormalised<T> left_orthonormalise(TensorTrain<T>&&);  \
    template Orthonormalised<T> right_orthonormalise(TensorTrain<T>&&); \
    template TtSvdResult<T> round(const TensorTrain<T>&, const RoundOptions&);
COUPLET_INSTANTIATE(float)
COUPLET_INSTANTIATE(double)
#undef COUPLET_INSTANTIATE

}  // namespace couplet
