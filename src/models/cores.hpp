#pragma once

#include <vector>

#include "couplet/models/merged_rows.hpp"

namespace couplet {

/// The merged rows as a train of norm 1 whose first mode is that of the rows: 1 x R1 x R1, then the features.
std::vector<Tensor<double>> cores_of(const MergedRows& rows);

}  // namespace couplet
