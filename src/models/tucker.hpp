#pragma once

#include <vector>

#include "couplet/models/factors.hpp"

namespace couplet {

struct TuckerFit {
    std::vector<Matrix<double>> bases = {};  ///< of all modes, the merged rows first; orthonormal columns
    double error2 = 0;                       ///< of rows of norm 1
    Index sweeps = 0;
    bool converged = false;
};

/// Bases of these ranks, one per core, by orthogonal iteration (De Lathauwer, De Moor and Vandewalle 2000, one power
/// step a sweep): each mode's basis is multiplied by the second moment of what the others' keep. The moments are those
/// of a train, r_n x r_n on either side of a core, so that nothing of the size of the core of the model or more is
/// formed. Cost of a sweep: about 4 sum_n r_{n-1} r_n R_n (I_n + r_{n-1} + r_n).
TuckerFit fit_tucker(const std::vector<Tensor<double>>& cores, const std::vector<Index>& ranks,
                     const FactorOptions& options, std::uint64_t start);

/// The model's core, R_1 x ... x R_N.
Tensor<double> tucker_core(const std::vector<Tensor<double>>& cores, const std::vector<Matrix<double>>& bases);

/// The cores with each mode projected on its basis: core n becomes r_{n-1} x R_n x r_n, in rows (a, b), columns r, as
/// the products of the mode with the basis.
Matrix<double> core_in_basis(const Tensor<double>& core, const Matrix<double>& basis);

}  // namespace couplet
