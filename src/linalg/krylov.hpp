#pragma once

#include <cstdint>
#include <functional>

#include "couplet/tensor/matrix.hpp"

namespace couplet {

/// Applies a symmetric positive semidefinite matrix of order n to n x l columns.
using SymmetricOperator = std::function<Matrix<double>(MatrixView<const double>)>;

struct KrylovOptions {
    Index block = 0;  ///< columns per pass, at most n
    int passes = 3;   ///< applications of the operator
    std::uint64_t seed = 0;
};

/// Orthonormal basis (n x q, q <= passes * block) of the block Krylov space of a seeded random start, newest
/// block first (Musco and Musco 2015). Directions below 1e-6 of their block are dropped.
Matrix<double> krylov_space(const SymmetricOperator& apply, Index n, const KrylovOptions& options);

}  // namespace couplet
