#pragma once

#include <span>
#include <vector>

#include "couplet/tensor/matrix.hpp"

namespace couplet {

struct SymmetricEigen {
    std::vector<double> values;  ///< descending
    Matrix<double> vectors;      ///< n x count: column j belongs to values[j], orthonormal, sign rule applied
};

/// The `count` largest eigenvalues of a symmetric matrix and their eigenvectors (count < 0: all).
/// Cost: 4/3 n^3 + 2 n^2 count flops; only the wanted vectors are computed. Throws RunError if LAPACK does
/// not converge.
SymmetricEigen symmetric_eigen(MatrixView<const double> a, Index count = -1);

/// Householder tridiagonal form of a symmetric matrix: all eigenvalues first, then as many vectors as they
/// call for.
class TridiagonalForm {
  public:
    explicit TridiagonalForm(MatrixView<const double> a);
    /// All eigenvalues, descending.
    std::vector<double> values() const;
    /// The `count` largest, descending; cheaper than values() for a part of them.
    std::vector<double> top_values(Index count) const;
    /// Orthonormal eigenvectors of the largest eigenvalues, which the caller has from above, as columns; sign
    /// rule applied.
    Matrix<double> top_vectors(std::span<const double> largest) const;
    /// Everything, by divide and conquer.
    SymmetricEigen all() const;
    /// Whether `count` values and vectors are had sooner from all().
    bool prefers_all(Index count) const;

  private:
    Matrix<double> reflectors_;
    std::vector<double> diagonal_;
    std::vector<double> off_diagonal_;
    std::vector<double> tau_;
};

}  // namespace couplet
