#pragma once

#include <cblas.h>

#include "couplet/tensor/matrix.hpp"

namespace couplet::blas {

/// A size as BLAS and LAPACK take it, who know no other integers; throws InputError beyond 2^31 - 1.
blasint blas_size(Index size);

// Row-major C = alpha op(A) op(B) + beta C on the calling thread.
void gemm(bool trans_a, bool trans_b, Index m, Index n, Index k, double alpha, const double* a, Index lda,
          const double* b, Index ldb, double beta, double* c, Index ldc);
void gemm(bool trans_a, bool trans_b, Index m, Index n, Index k, float alpha, const float* a, Index lda, const float* b,
          Index ldb, float beta, float* c, Index ldc);

/// Row-major upper triangle of C <- A^T A + beta C where `trans` (A is k x n), of C <- A A^T + beta C otherwise (A is
/// n x k).
void syrk(bool trans, Index n, Index k, const double* a, Index lda, double beta, double* c, Index ldc);

// LAPACK in its own column-major terms; each throws RunError when info != 0.
void sytrd(Index n, double* a, double* d, double* e, double* tau);
/// All eigenpairs of the tridiagonal (d, e) by divide and conquer, ascending in d; e is overwritten. z is n x n.
void stedc(Index n, double* d, double* e, double* z);
/// Eigenvalues only of a tridiagonal; ascending in d.
void sterf(Index n, double* d, double* e);
/// All eigenpairs, ascending; vectors replace a.
void syevd(Index n, double* a, double* values);
template <Real T>
void gelqf(Index m, Index n, T* a, Index lda, T* tau);
template <Real T>
void orglq(Index m, Index n, Index k, T* a, Index lda, const T* tau);
void geqrf(Index m, Index n, double* a, Index lda, double* tau);
/// Thin SVD: u is m x min(m, n), vt is min(m, n) x n.
void gesdd(Index m, Index n, double* a, double* s, double* u, double* vt);

/// Cholesky factor R (upper, row-major, zeros below) of a row-major symmetric matrix, in place; false when it is not
/// positive definite.
bool potrf(Index n, double* a);
/// Inverse of a row-major upper triangle, in place.
void trtri(Index n, double* a);

/// Kernel family OpenBLAS runs with, for example "SkylakeX".
const char* core_name();
/// File it was loaded from, as asked for: the wheel's own copy or the distribution's.
const char* library_name();
/// See couplet::share_process().
void share_process() noexcept;

}  // namespace couplet::blas
