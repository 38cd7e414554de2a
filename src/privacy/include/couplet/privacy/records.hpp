#pragma once

#include <span>
#include <string>
#include <vector>

#include "couplet/tensor/tensor.hpp"

namespace couplet {

/// exact: to the last bit, but for the sign of a zero. rounded: as single precision would have it, so that a file that
/// was converted on its way is known again.
enum class Likeness { exact, rounded };

/// Equal for records that are alike.
std::string record_key(std::span<const double> record, Likeness likeness);

/// The patients that count where it matters how many there are: rows that say anything (a value that is neither zero
/// nor missing), and of equal rows the first. A hundred empty records hide nobody, nor does one record a hundred times.
/// Cost: one read.
std::vector<Index> distinct_records(MatrixView<const double> rows);
/// How many that are.
Index count_patients(const TensorView<const double>& x);

}  // namespace couplet
