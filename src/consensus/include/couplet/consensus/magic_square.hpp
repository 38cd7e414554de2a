#pragma once

#include "couplet/tensor/matrix.hpp"

namespace couplet {

/// MATLAB's magic(n): the numbers 1 ... n^2, every row, column and diagonal with the sum n (n^2 + 1) / 2.
/// Siamese form for odd n, complements on the diagonals of 4 x 4 tiles for n = 4m, four odd squares with
/// swapped rows (LUX) for n = 4m + 2. Throws InputError for n < 1 and for n = 2, which has no magic square.
Matrix<double> magic_square(Index n);

}  // namespace couplet
