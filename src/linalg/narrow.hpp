#pragma once

#include "couplet/tensor/matrix.hpp"

namespace couplet {

/// Whether a matrix is narrow: it has so few columns, up to 64, that BLAS spends more on packing than on arithmetic,
/// and the kernels below take it. They are compiled for each SimdLevel, and the machine's best is picked at run time.
bool is_narrow(Index cols) noexcept;

/// Upper triangle of A^T A for a narrow A, written to g (n x n) or, unless `first`, added to it. One read of A.
void narrow_gram(MatrixView<const double> a, MatrixView<double> g, bool first);

/// Whether low_gram beats BLAS for matrices of so few rows: it needs the 32 registers of AVX-512.
bool is_low(Index rows) noexcept;

/// Upper triangle of A A^T for an A of few long rows, written to g or, unless `first`, added to it.
void low_gram(MatrixView<const double> a, MatrixView<double> g, bool first);

/// Whether low_image beats BLAS: up to rank 16 it waits for memory, beyond that BLAS multiplies faster.
bool is_low_image(Index rows, Index rank) noexcept;

/// C = V^T A for an A of few long rows. One read of A.
void low_image(MatrixView<const double> v, MatrixView<const double> a, MatrixView<double> c);

/// y = A v for a narrow contiguous A.
void narrow_times_vector(MatrixView<const double> a, const double* v, double* y);

}  // namespace couplet
