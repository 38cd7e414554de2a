#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "couplet/linalg/eigen.hpp"
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

/// The `count` largest eigenpairs of a positive semidefinite matrix by block Krylov iteration, or nothing
/// when the sum of the eigenvalues found has not settled to `tolerance` times the rest of the trace within
/// the passes that still pay off. Cost: about 2 n^2 (count + 8) flops a pass, against 4/3 n^3 for the direct
/// solver.
std::optional<SymmetricEigen> krylov_eigen(MatrixView<const double> a, Index count, double tolerance);

}  // namespace couplet
