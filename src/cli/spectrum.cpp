#include "spectrum.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "couplet/linalg/eigen.hpp"
#include "couplet/linalg/products.hpp"
#include "couplet/linalg/qr.hpp"

namespace couplet::cli {
namespace {

/// Flops that take a second or so.
constexpr double patience = 2e10;

/// Squares of magnitudes outside this range overflow or vanish in a Gram matrix.
bool squares_are_safe(double largest) { return largest > 1e-90 && largest < 1e120; }

/// Divides by the power of two next to the largest magnitude, and returns its exponent: ranks are chosen by squares.
int normalise(Matrix<double>& a) {
    const double largest = max_magnitude(std::as_const(a).view());
    if (largest == 0) return 0;
    const int exponent = std::ilogb(largest);
    for (Index i = 0; i < a.size(); ++i) a.data()[i] = std::ldexp(a.data()[i], -exponent);
    return exponent;
}

}  // namespace

template <Real T>
Spectrum spectrum(MatrixView<const T> a) {
    const Index length = std::min(a.rows, a.cols);
    const Side side = a.rows <= a.cols ? Side::left : Side::right;
    const double m = static_cast<double>(length);
    const double qr_flops = 2 * static_cast<double>(a.size()) * m + 20 * m * m * m;
    Spectrum result;
    if (qr_flops <= patience || !squares_are_safe(max_magnitude(a))) {
        // A tail of zero would mean "cut nothing", for which no singular values are computed.
        const SvdOptions all{.max_tail = std::numeric_limits<double>::min()};
        Matrix<double> factor = triangular_factor(a, side);
        const int exponent = normalise(factor);
        result.values = basis_from_factor(factor, all).sigma;
        for (double& value : result.values) value = std::ldexp(value, exponent);
        result.method = SvdMethod::qr;
    } else {
        result.values = TridiagonalForm(gram(a, side)).values();
        for (double& value : result.values) value = std::sqrt(std::max(value, 0.0));
        result.method = SvdMethod::gram;
    }
    result.values.resize(static_cast<std::size_t>(length), 0.0);
    return result;
}

std::vector<double> truncation_errors(std::span<const double> values) {
    std::vector<double> errors(values.size() + 1, 0.0);
    const double largest = values.empty() ? 0 : values.front();
    if (largest == 0) return errors;
    for (std::size_t r = values.size(); r-- > 0;) {
        errors[r] = errors[r + 1] + values[r] / largest * (values[r] / largest);
    }
    const double all = errors.front();
    for (double& error : errors) error = std::sqrt(error / all);
    return errors;
}

Index rank_for_error(std::span<const double> errors, double error) {
    for (std::size_t r = 1; r < errors.size(); ++r) {
        if (errors[r] <= error) return static_cast<Index>(r);
    }
    return static_cast<Index>(errors.size()) - 1;
}

template Spectrum spectrum(MatrixView<const float>);
template Spectrum spectrum(MatrixView<const double>);

}  // namespace couplet::cli
