#pragma once

#include <span>
#include <vector>

#include "couplet/linalg/svd.hpp"
#include "couplet/tensor/matrix.hpp"

namespace couplet::cli {

/// All singular values of a matrix, descending, as many as its short side.
struct Spectrum {
    std::vector<double> values;
    SvdMethod method = SvdMethod::qr;  ///< gram cannot see below 1e-8 of the largest
};

/// By the triangular factor, accurate to rounding, unless that would take long; then by the Gram matrix.
/// Memory: two matrices of the short side. A must be finite and not empty.
template <Real T>
Spectrum spectrum(MatrixView<const T> a);

/// errors[r] is the relative error of the best approximation of rank r: sqrt(sum of the squares after the first r) over
/// the norm; errors.size() is values.size() + 1. All zero for a zero matrix.
std::vector<double> truncation_errors(std::span<const double> values);

/// The smallest rank, at least 1, whose error is at most `error`. `errors` as above.
Index rank_for_error(std::span<const double> errors, double error);

}  // namespace couplet::cli
