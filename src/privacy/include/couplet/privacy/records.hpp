#pragma once

#include <vector>

#include "couplet/tensor/tensor.hpp"

namespace couplet {

/// The patients that count where it matters how many there are: rows that say anything (a value that is neither zero
/// nor missing), and of equal rows the first. A hundred empty records hide nobody, nor does one record a hundred times.
/// Cost: one read.
std::vector<Index> distinct_records(MatrixView<const double> rows);
/// How many that are.
Index count_patients(const TensorView<const double>& x);

}  // namespace couplet
