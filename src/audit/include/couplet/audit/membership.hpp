#pragma once

#include <span>

#include "couplet/tensor/matrix.hpp"

namespace couplet {

/// How well a score tells two groups apart: the probability that a random member scores below a random control, ties
/// counted half; 0.5 is guessing. The interval is the wider of DeLong's (1988), which follows the scores, and
/// Newcombe's (2006, method 5), which holds with a handful of controls and where all scores are alike.
struct Auc {
    double value = 0.5;
    double low = 0;
    double high = 1;
};

inline constexpr double two_sided_95 = 1.959963984540054;

/// Without members or controls: 0.5 in [0, 1], nothing is known. `z`: standard deviations to either side. Cost: n log n
/// of the sizes.
Auc auc_below(std::span<const double> members, std::span<const double> controls, double z = two_sided_95);

/// The interval whose ends are the AUCs that a value of so many members and controls is `z` standard deviations from.
Auc newcombe_interval(double value, Index members, Index controls, double z);

/// The better of two attacks, each with an interval of 97.5%, so that together they have 95%.
Auc better_of(const Auc& a, const Auc& b);
/// As wide as two attacks need.
inline constexpr double two_sided_97_5 = 2.241402727604947;

/// Membership inference: how well one can tell who took part, by the residual of a record on the row space of `rows` (R
/// x P), or by its leverage x^T (D^T D)^+ x, whichever tells more: who took part has shaped D^T D, and stands out less.
/// Records of norm 0 are left out. Cost: one SVD of the rows and two products.
Auc infer_membership(MatrixView<const double> rows, MatrixView<const double> patients,
                     MatrixView<const double> controls);

}  // namespace couplet
