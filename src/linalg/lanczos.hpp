#pragma once

#include <optional>

#include "couplet/linalg/eigen.hpp"
#include "couplet/tensor/matrix.hpp"

namespace couplet {

/// Whether lanczos_eigen finds so many eigenpairs sooner than the direct solver, where the spectrum is not flat.
bool lanczos_pays(MatrixView<const double> a, Index count);

/// The `count` largest eigenpairs of a positive semidefinite matrix by block Lanczos iteration with full
/// orthogonalisation (Golub and Underwood 1977), or nothing where the spectrum is flat, which mostly shows after a few
/// steps, where an eigenvalue may occur more often than a block has columns, or where it has not settled within half of
/// the order. Settled: what the eigenvalues found may lack, by their residuals, is at most `tolerance` times the rest
/// of the trace, or rounding, and a second random start finds nothing larger outside. Bit-identical for every thread
/// count.
///
/// Cost for m columns, on spectra that decay about 2 count + 50: 2 n^2 m + 4 n m^2 flops, all of them in products,
/// against 4/3 n^3 of the direct solver.
std::optional<SymmetricEigen> lanczos_eigen(MatrixView<const double> a, Index count, double tolerance);

}  // namespace couplet
