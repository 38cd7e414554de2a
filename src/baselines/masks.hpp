#pragma once

#include <cstdint>
#include <vector>

#include "couplet/tensor/matrix.hpp"

namespace couplet {

/// A random orthogonal matrix with blocks of at most `largest` on its diagonal, of as equal sizes as possible; the same
/// for equal seed and stream.
class OrthogonalMask {
  public:
    OrthogonalMask(Index size, Index largest, std::uint64_t seed, std::uint64_t stream);

    Index size() const noexcept { return size_; }
    /// A Q.
    Matrix<double> mask_columns(MatrixView<const double> a) const;
    /// A Q^T.
    Matrix<double> unmask_columns(MatrixView<const double> a) const;
    /// Q A.
    Matrix<double> mask_rows(MatrixView<const double> a) const;

  private:
    Index size_;
    std::vector<Matrix<double>> blocks_;
};

}  // namespace couplet
