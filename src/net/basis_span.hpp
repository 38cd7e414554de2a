#pragma once

#include <string>

#include "couplet/tensor/matrix.hpp"

namespace couplet::net {

/// Directions of the features on which sums were answered, of data that stays as it is.
class BasisSpan {
  public:
    /// What is done to the data: of other data nothing is known yet.
    void set_data(const std::string& name);
    /// A sum on this basis is answered. Columns are orthonormal.
    void add(const Matrix<double>& basis);
    /// How many directions the columns of this one span beyond those. Cost: 2 P c (q + c) flops for c columns of P
    /// entries and q directions that are known.
    Index outside(const Matrix<double>& basis) const;

  private:
    std::string data_;
    Matrix<double> known_;  ///< orthonormal columns; empty: none
};

}  // namespace couplet::net
