#pragma once

#include "couplet/linalg/source.hpp"

namespace couplet {

/// A Gram matrix shows what is cut no better than 1e-8 of the norm. Where that is nothing, as with data of exactly low
/// rank, one step of subspace iteration on the data itself brings the kept space to rounding, at a fraction of the cost
/// of a QR factorisation; kept singular values below 1e-8 of the largest do not get there, which the residual tells.

/// Residual, relative to the norm, below which a polished space counts as exact.
constexpr double polished_residual = 1e-12;

/// F (r x n) with A ~ Q F, Q orthonormal, n the source's order, from r orthonormal columns `basis` (n x r) near the
/// wanted space. Cost: two reads, 6 |A| r flops.
Matrix<double> polished_factor(const Source& source, const Matrix<double>& basis);

}  // namespace couplet
