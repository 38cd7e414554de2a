#pragma once

#include <optional>
#include <vector>

#include "couplet/models/factors.hpp"

namespace couplet {

/// What a start found. Factors of all modes, those of the merged rows first; all columns but the first mode's have norm
/// 1.
struct CpFit {
    std::vector<Matrix<double>> factors = {};
    double objective = 0;  ///< squared error and ridge, of rows of norm 1
    Index sweeps = 0;
    bool converged = false;
};

/// CP of the train of these cores (norm 1, R_0 = 1) from random factors. The ridge is on the squared norm of each
/// component, so that every update is one of the same objective whatever the scales of its columns.
CpFit fit_cp(const std::vector<Tensor<double>>& cores, const FactorOptions& options, std::uint64_t start);

/// The same with non-negative factors in all modes but the first, whose rows are no patients but mixtures of them. The
/// objective is the least that any patients with the second moment of these rows can have with non-negative loadings A:
///     min over rotations U of ||U S - A W||^2 = ||S||^2 + tr(Phi W W^T) - 2 tr((M^1/2 Phi M^1/2)^1/2),
/// with Phi = A^T A and M = W S^T S W^T (the Bures distance of two second moments). With free loadings instead the
/// factors need subtractions that no patient can make: on the diabetes survey at 8 components the patients' error is
/// then 1.25 times that of a fit to all patients, this way 1.07 (bench/models.py).
CpFit fit_nonnegative_cp(const std::vector<Tensor<double>>& cores, const FactorOptions& options, std::uint64_t start);

/// The worst pair of components that cancel, and how far they have grown.
Cancelling cancelling_pair(const std::vector<Matrix<double>>& factors);

/// Random factors of these modes: uniform on [-1/2, 1/2), or on [0, 1) where they are to be non-negative; columns of
/// norm 1.
std::vector<Matrix<double>> random_factors(const std::vector<Tensor<double>>& cores, Index components, bool positive,
                                           const FactorOptions& options, std::uint64_t start);

/// Makes the columns' norms 1 and returns what they were; a zero column stays.
std::vector<double> normalise_columns(Matrix<double>& factor);

}  // namespace couplet
