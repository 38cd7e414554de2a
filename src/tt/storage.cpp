#include "storage.hpp"

#include <cmath>
#include <limits>
#include <sstream>
#include <utility>

#include "couplet/core/error.hpp"
#include "couplet/linalg/magnitude.hpp"
#include "couplet/linalg/products.hpp"

namespace couplet {
namespace {

template <Real T>
constexpr double unit_roundoff = std::numeric_limits<T>::epsilon() / 2;

/// Upper bound on the spectral norm of a matrix D: the fourth root of ||D D^T||^2, for random roundings much closer to
/// it than ||D|| is.
double spectral_bound(MatrixView<const double> d, Side side) {
    const auto g = gram(d, side);
    return std::sqrt(std::sqrt(squared_norm<double>(g.view())));
}

/// What is stored minus what was meant, times 2^power: roundings are squared next.
template <Real T, Real From>
Tensor<double> difference(const Tensor<T>& stored, const Tensor<From>& meant, int exponent, int power) {
    Tensor<double> result(stored.shape());
    scale_by_power(stored.data(), stored.size(), -exponent, result.data());
    for (Index i = 0; i < result.size(); ++i) {
        result.data()[i] = std::ldexp(result.data()[i] - static_cast<double>(meant.data()[i]), power);
    }
    return result;
}

template <Real T>
void require_representable(const Tensor<T>& stored, double norm, int exponent) {
    const double largest = max_magnitude<T>(stored.view().unfold(0));
    if (std::isfinite(largest) && (largest > 0 || norm == 0)) return;
    std::ostringstream found;
    found << "a norm of about 1e" << std::lround(std::log10(norm) + exponent * std::log10(2.0))
          << ", which one core must hold";
    std::ostringstream expected;
    expected << "a norm between " << std::numeric_limits<T>::denorm_min() << " and " << std::numeric_limits<T>::max();
    const bool single = std::same_as<T, float>;
    throw InputError({"tensor", found.str(), expected.str(),
                      single ? "Save the values as float64, or scale them first." : "Scale the values first."});
}

}  // namespace

template <Real T>
double projection_rounding(Index terms) noexcept {
    const double sums = unit_roundoff<double> * (8 + 4 * std::sqrt(static_cast<double>(terms)));
    return std::same_as<T, float> ? sums + unit_roundoff<float> : sums;
}

template <Real T>
Tensor<T> CoreStore<T>::orthonormal(Tensor<double> core, Orthogonality kind) {
    if constexpr (std::same_as<T, double>) {
        return core;
    } else {
        constexpr int power = 24;
        auto stored = convert<T>(core.view());
        const auto lost = difference(stored, core, 0, power);
        const bool right = kind == Orthogonality::right;
        const double bound = spectral_bound(lost.view().unfold(right ? 1 : 2), right ? Side::left : Side::right);
        rounding_ += std::ldexp(bound, -power);
        return stored;
    }
}

template <Real T>
template <Real From>
Tensor<T> CoreStore<T>::carrier(Tensor<From> core, int exponent, double norm) {
    if constexpr (std::same_as<T, From>) {
        if (exponent == 0) return core;
    }
    constexpr int power = std::same_as<T, float> ? 24 : 53;
    Tensor<T> stored(core.shape());
    scale_by_power(core.data(), core.size(), exponent, stored.data());
    require_representable(stored, norm, exponent);
    const auto lost = difference(stored, core, exponent, power);
    if (norm > 0) {
        rounding_ += std::ldexp(std::sqrt(squared_norm<double>(lost.view().unfold(0))), -power) / norm;
    }
    return stored;
}

template double projection_rounding<float>(Index) noexcept;
template double projection_rounding<double>(Index) noexcept;
template class CoreStore<float>;
template class CoreStore<double>;
template Tensor<float> CoreStore<float>::carrier(Tensor<float>, int, double);
template Tensor<float> CoreStore<float>::carrier(Tensor<double>, int, double);
template Tensor<double> CoreStore<double>::carrier(Tensor<double>, int, double);

}  // namespace couplet
