#pragma once

#include <span>

#include "couplet/tensor/matrix.hpp"

namespace couplet {

/// How well a score tells two groups apart: the probability that a random member scores below a random control, ties
/// counted half; 0.5 is guessing. 95% interval after DeLong, DeLong and Clarke-Pearson (1988).
struct Auc {
    double value = 0.5;
    double low = 0;
    double high = 1;
};

/// Without members or controls: 0.5 in [0, 1], nothing is known. Cost: one product of the sizes.
Auc auc_below(std::span<const double> members, std::span<const double> controls);

/// Membership inference: how well the residual of a record on the row space of `rows` (R x P) tells who took part.
/// Records of norm 0 are left out. Cost: one SVD of the rows and two products.
Auc infer_membership(MatrixView<const double> rows, MatrixView<const double> patients,
                     MatrixView<const double> controls);

}  // namespace couplet
