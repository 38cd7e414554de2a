#pragma once

#include <vector>

#include "couplet/tensor/matrix.hpp"

namespace couplet {

/// What the entries that a patient does not know are drawn to while it is fitted: each counts as `weight` of an
/// observation of its feature's mean. Features of which no mean is known draw nothing.
struct ColumnPull {
    std::vector<double> means;  ///< one per column; 0 where there is none
    std::vector<char> known;    ///< whether there is one
    double weight = 0;          ///< from 0, plain least squares, to 1
};

/// Personal cores fitted to incomplete rows.
struct KnownFit {
    Matrix<double> personal;     ///< G_1, I1 x R1
    std::vector<Index> loose;    ///< patients of whom too little is known for all directions; see fit_known()
    std::vector<Index> unknown;  ///< patients of whom nothing is known; their rows are zeros
    double norm2 = 0;            ///< of the known entries
    double error2 = 0;           ///< on the known entries
};

/// Least squares of every row of X (I1 x P, NaN where it is not known) on what is known of it: the g that minimises
/// ||x - g W||^2 over the known entries, plus the pull where one is given. W (R1 x P) has orthonormal rows.
///
/// A direction of which the known entries of a row say next to nothing would be fitted to noise. Where the normal
/// equations have a pivot under 1e-3 of their mean diagonal, which includes every row with fewer entries than W has
/// rows, the solution is that of minimum norm over the eigenvectors above that limit; the row counts as loose.
///
/// Cost: 2 m R1^2 + R1^3 / 3 flops for a row with m known entries. Rows are independent of one another and of the
/// number of threads. X must not be infinite.
KnownFit fit_known(MatrixView<const double> x, MatrixView<const double> w, const ColumnPull* pull = nullptr);

}  // namespace couplet
