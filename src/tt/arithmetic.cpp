#include "couplet/tt/arithmetic.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <sstream>
#include <string>
#include <utility>

#include "couplet/core/error.hpp"
#include "couplet/linalg/products.hpp"
#include "scaled_cores.hpp"

namespace couplet {
namespace {

/// Copies `from` into `into` with its three indices shifted.
template <Real T>
void place(TensorView<const T> from, Tensor<T>& into, Index row, Index mode, Index column) {
    const Shape& f = from.shape();
    const Shape& t = into.shape();
    for (Index a = 0; a < f[0]; ++a) {
        for (Index i = 0; i < f[1]; ++i) {
            std::copy_n(from.data() + (a * f[1] + i) * f[2], f[2],
                        into.data() + ((row + a) * t[1] + mode + i) * t[2] + column);
        }
    }
}

template <Real T>
void require_same_modes(const TensorTrain<T>& a, const TensorTrain<T>& b, Index from, const char* what) {
    bool same = a.order() == b.order() && a.left_rank() == b.left_rank();
    for (Index n = from; same && n < a.order(); ++n) same = a.shape()[n] == b.shape()[n];
    if (same) return;
    throw InputError({what,
                      a.shape().to_string() + " and " + b.shape().to_string() +
                          (a.left_rank() == b.left_rank() ? "" : " with different first ranks"),
                      from == 0 ? "equal shapes" : "shapes that differ in the first mode only", ""});
}

/// Sums of products are known up to rounding of the largest: where that is no number at all, a sum of zero may hide
/// anything.
void require_seen(const ScaledCores& a, const ScaledCores& b) {
    const auto is_zero = [](const Tensor<double>& core) { return max_magnitude<double>(core.view().unfold(0)) == 0; };
    const bool zero = std::ranges::any_of(a.cores, is_zero) || std::ranges::any_of(b.cores, is_zero);
    if (zero || a.exponent + b.exponent <= std::numeric_limits<double>::max_exponent) return;
    throw InputError({"dot", "products of which the largest is beyond 1.8e308 and that seem to cancel",
                      "an inner product that can be told from rounding", "Scale a model first."});
}

template <Real T>
void require_in_range(const Tensor<T>& core, const char* what) {
    if (!find_non_finite(core.elements())) return;
    std::ostringstream most;
    most << "entries up to " << std::numeric_limits<T>::max();
    throw InputError({what, "an entry beyond the largest number", most.str(), "Scale the models first."});
}

}  // namespace

template <Real T>
TensorTrain<T> add(const TensorTrain<T>& a, const TensorTrain<T>& b) {
    require_same_modes(a, b, 0, "add");
    const Index order = a.order();
    std::vector<Tensor<T>> cores;
    for (Index n = 0; n < order; ++n) {
        const auto ga = a.core(n);
        const auto gb = b.core(n);
        const Index row = n == 0 ? 0 : ga.shape()[0];
        const Index column = n == order - 1 ? 0 : ga.shape()[2];
        if (order == 1) {
            auto sum = Tensor<T>::copy(ga);
            for (Index i = 0; i < sum.size(); ++i) sum.data()[i] += gb.data()[i];
            require_in_range(sum, "add");
            cores.push_back(std::move(sum));
            break;
        }
        auto core = Tensor<T>::zeros({row + gb.shape()[0], ga.shape()[1], column + gb.shape()[2]});
        place(ga, core, 0, 0, 0);
        place(gb, core, row, 0, column);
        cores.push_back(std::move(core));
    }
    TensorTrain<T> result(std::move(cores));
    result.set_labels(a.labels());
    return result;
}

template <Real T>
TensorTrain<T> scale(const TensorTrain<T>& a, T factor) {
    std::vector<Tensor<T>> cores;
    std::vector<Orthogonality> kinds;
    for (Index n = 0; n < a.order(); ++n) {
        cores.push_back(Tensor<T>::copy(a.core(n)));
        kinds.push_back(a.orthogonality(n));
    }
    for (T& x : cores.back().elements()) x *= factor;
    if (std::isfinite(factor)) require_in_range(cores.back(), "scale");
    kinds.back() = Orthogonality::none;
    TensorTrain<T> result(std::move(cores), std::move(kinds));
    result.set_labels(a.labels());
    return result;
}

template <Real T>
double dot(const TensorTrain<T>& a, const TensorTrain<T>& b) {
    require_same_modes(a, b, 0, "dot");
    const auto sa = scaled_cores(a);
    const auto sb = scaled_cores(b);
    int exponent = sa.exponent + sb.exponent;
    // gamma (R^a x R^b) holds the product of everything to the left.
    auto gamma = Matrix<double>::identity(a.left_rank());
    for (Index n = 0; n < a.order(); ++n) {
        const auto& ga = sa.cores[static_cast<std::size_t>(n)];
        const auto& gb = sb.cores[static_cast<std::size_t>(n)];
        auto moved = product<double>(gamma.view(), gb.view().unfold(1));  // R^a_{n-1} x (I R^b_n)
        moved.reshape(ga.shape()[0] * ga.shape()[1], gb.shape()[2]);
        gamma = product<double>(ga.view().unfold(2), moved.view(), Op::transpose);
        const double largest = max_magnitude<double>(gamma.view());
        if (largest == 0) {
            require_seen(sa, sb);
            return 0;
        }
        if (!std::isfinite(largest)) return std::nan("");
        const int shift = magnitude_exponent(largest);
        scale_by_power(gamma.data(), gamma.size(), -shift, gamma.data());
        exponent += shift;
    }
    return with_exponent(gamma(0, 0), exponent, "dot", "an inner product");
}

template <Real T>
double norm(const TensorTrain<T>& a) {
    return swept_norm(scaled_cores(a)).norm("norm");
}

template <Real T>
TensorTrain<T> concatenate(std::span<const TensorTrain<T>> trains) {
    if (trains.empty()) throw InputError({"concatenate", "no trains", "at least one", ""});
    const auto& first = trains.front();
    for (const auto& train : trains) {
        require_same_modes(first, train, 1, "concatenate");
        if (train.left_rank() != 1) {
            throw InputError({"concatenate", "a first rank of " + std::to_string(train.left_rank()), "1", ""});
        }
    }
    const Index order = first.order();
    std::vector<Tensor<T>> cores;
    for (Index n = 0; n < order; ++n) {
        Index rows = 0;
        Index modes = 0;
        Index columns = 0;
        for (const auto& train : trains) {
            rows += train.core(n).shape()[0];
            modes += train.core(n).shape()[1];
            columns += train.core(n).shape()[2];
        }
        auto core =
            Tensor<T>::zeros({n == 0 ? 1 : rows, n == 0 ? modes : first.shape()[n], n == order - 1 ? 1 : columns});
        Index row = 0;
        Index mode = 0;
        Index column = 0;
        for (const auto& train : trains) {
            const auto g = train.core(n);
            place(g, core, n == 0 ? 0 : row, n == 0 ? mode : 0, n == order - 1 ? 0 : column);
            row += g.shape()[0];
            mode += g.shape()[1];
            column += g.shape()[2];
        }
        cores.push_back(std::move(core));
    }
    return TensorTrain<T>(std::move(cores));
}

#define COUPLET_INSTANTIATE(T)                                                 \
    template TensorTrain<T> add(const TensorTrain<T>&, const TensorTrain<T>&); \
    template TensorTrain<T> scale(const TensorTrain<T>&, T);                   \
    template double dot(const TensorTrain<T>&, const TensorTrain<T>&);         \
    template double norm(const TensorTrain<T>&);                               \
    template TensorTrain<T> concatenate(std::span<const TensorTrain<T>>);
COUPLET_INSTANTIATE(float)
COUPLET_INSTANTIATE(double)
#undef COUPLET_INSTANTIATE

}  // namespace couplet
