#include "couplet/linalg/magnitude.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <sstream>

#include "couplet/core/error.hpp"
#include "couplet/linalg/products.hpp"

namespace couplet {

int magnitude_exponent(double largest) noexcept {
    return largest > 0 && std::isfinite(largest) ? std::ilogb(largest) : 0;
}

template <Real To, Real From>
void scale_by_power(const From* from, Index size, int exponent, To* to) {
    // One multiplication each where the power itself is a number.
    if (std::abs(exponent) <= 1000) {
        const double power = std::ldexp(1.0, exponent);
        for (Index i = 0; i < size; ++i) to[i] = static_cast<To>(static_cast<double>(from[i]) * power);
    } else {
        for (Index i = 0; i < size; ++i) to[i] = static_cast<To>(std::ldexp(static_cast<double>(from[i]), exponent));
    }
}

double ScaledNorm::norm(const std::string& where) const {
    return with_exponent(std::sqrt(squares), exponent, where, "a norm");
}

template <Real T>
ScaledNorm scaled_norm(MatrixView<const T> a) {
    const double plain = squared_norm(a);
    if (squares_are_safe(plain)) return {plain, 0};
    const double largest = max_magnitude(a);
    if (largest == 0) return {};
    if (!std::isfinite(largest)) return {std::numeric_limits<double>::quiet_NaN(), 0};
    constexpr Index block = 4096;
    ScaledNorm result{0, magnitude_exponent(largest)};
    Matrix<double> scaled(1, std::min(block, a.cols));
    for (Index i = 0; i < a.rows; ++i) {
        for (Index j = 0; j < a.cols; j += block) {
            const Index count = std::min(block, a.cols - j);
            scale_by_power(a.row(i) + j, count, -result.exponent, scaled.data());
            result.squares += squared_norm<double>(scaled.view().cols_from(0, count));
        }
    }
    return result;
}

int make_squares_safe(std::span<double> values) {
    const MatrixView<const double> all(values.data(), 1, static_cast<Index>(values.size()));
    if (squares_are_safe(squared_norm(all))) return 0;
    const int exponent = magnitude_exponent(max_magnitude(all));
    scale_by_power(values.data(), all.cols, -exponent, values.data());
    return exponent;
}

double with_exponent(double value, int exponent, const std::string& where, const std::string& what) {
    const double result = std::ldexp(value, exponent);
    if (value == 0 || (result != 0 && std::isfinite(result))) return result;
    const double digits = std::log10(std::abs(value)) + exponent * std::log10(2.0);
    std::ostringstream found;
    found << what << " of about 1e" << std::lround(digits);
    throw InputError({where, found.str(), "a number between 4.9e-324 and 1.8e308", "Scale the values first."});
}

template void scale_by_power(const float*, Index, int, float*);
template void scale_by_power(const float*, Index, int, double*);
template void scale_by_power(const double*, Index, int, float*);
template void scale_by_power(const double*, Index, int, double*);
template ScaledNorm scaled_norm(MatrixView<const float>);
template ScaledNorm scaled_norm(MatrixView<const double>);

}  // namespace couplet
