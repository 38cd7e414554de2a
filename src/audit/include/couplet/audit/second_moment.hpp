#pragma once

#include "couplet/tensor/matrix.hpp"

namespace couplet {

/// A count that rests on 1 to so many people is a small cell, as statistical offices see it.
inline constexpr Index small_cell = 10;

/// What rows D (q x P) with D^T D ~ X^T X say about sums over the patients X (n x P).
struct SecondMoment {
    double relative_error = 1;  ///< ||D^T D - X^T X|| / ||X^T X||; 0 for data that is zero
    Index small_cells = 0;      ///< features that 1 to 10 patients have
    Index disclosed = 0;        ///< of these, whose sum of squares D shows to within a tenth of one patient's
};

/// Cost: products of n x P, q x P and their short sides; nothing of size P x P is formed.
SecondMoment second_moment_disclosure(MatrixView<const double> rows, MatrixView<const double> patients);

}  // namespace couplet
