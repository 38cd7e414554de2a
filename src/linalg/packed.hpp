#pragma once

#include "couplet/tensor/matrix.hpp"

/// Products of our own for processors with 512-bit vectors: the library of a distribution is older than they are and
/// reaches half of what they can do. The right operand is packed into panels of eight columns; a symmetric product
/// takes both operands from the same panels.
namespace couplet {

/// Whether packed_gemm() takes a product of this size on this machine, on which it is then ahead of the library.
bool packs_product(Index m, Index n, Index k) noexcept;

/// As blas::gemm() and blas::syrk() for sizes that packs_product() takes.
void packed_gemm(bool trans_a, bool trans_b, Index m, Index n, Index k, double alpha, const double* a, Index lda,
                 const double* b, Index ldb, double beta, double* c, Index ldc);
void packed_syrk(bool trans, Index n, Index k, const double* a, Index lda, double beta, double* c, Index ldc);

}  // namespace couplet
