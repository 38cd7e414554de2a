#include "spectrum.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "couplet/linalg/eigen.hpp"
#include "couplet/linalg/magnitude.hpp"
#include "couplet/linalg/products.hpp"
#include "couplet/linalg/qr.hpp"

namespace couplet::cli {
namespace {

/// Flops that take a second or so.
constexpr double patience = 2e10;

/// The matrix in double, times a power of two where squares of its singular values would overflow or vanish.
template <Real T>
Matrix<double> scaled_copy(MatrixView<const T> a, int exponent) {
    Matrix<double> result(a.rows, a.cols);
    for (Index i = 0; i < a.rows; ++i) scale_by_power(a.row(i), a.cols, -exponent, result.view().row(i));
    return result;
}

}  // namespace

template <Real T>
Spectrum spectrum(MatrixView<const T> a) {
    const Index length = std::min(a.rows, a.cols);
    const Side side = a.rows <= a.cols ? Side::left : Side::right;
    const double m = static_cast<double>(length);
    const double qr_flops = 2 * static_cast<double>(a.size()) * m + 20 * m * m * m;
    if (const int exponent = scaled_norm(a).exponent; exponent != 0) {
        Spectrum scaled = spectrum<double>(scaled_copy(a, exponent).view());
        with_exponent(scaled.values.front(), exponent, "tensor", "a singular value");
        for (double& value : scaled.values) value = std::ldexp(value, exponent);
        return scaled;
    }
    Spectrum result;
    if (qr_flops <= patience) {
        // A tail of zero would mean "cut nothing", for which no singular values are computed.
        const SvdOptions all{.max_tail = std::numeric_limits<double>::min()};
        result.values = basis_from_factor(triangular_factor(a, side).view(), all).sigma;
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
