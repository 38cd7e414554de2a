#pragma once

#include "couplet/tensor/matrix.hpp"

namespace couplet {

/// Vector instructions this machine has, of those our own kernels are compiled for.
enum class SimdLevel { baseline, avx2, avx512 };
SimdLevel simd_level() noexcept;

/// Whether narrow_gram handles matrices of this width: a multiple of 8 up to 32, where BLAS spends more on packing than
/// on arithmetic.
bool is_narrow(Index cols) noexcept;

/// Upper triangle of A^T A for a narrow contiguous A, written to g (n x n row-major). One read of A at memory speed.
/// Compiled for AVX-512, AVX2 and the baseline; the machine's best is picked at run time.
void narrow_gram(MatrixView<const double> a, double* g);

/// y = A v for a narrow contiguous A.
void narrow_times_vector(MatrixView<const double> a, const double* v, double* y);

}  // namespace couplet
