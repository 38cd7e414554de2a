#pragma once

#include <vector>

#include "couplet/tt/tensor_train.hpp"

namespace couplet {

bool is_identity(const Matrix<double>& g);

/// The merge relies on left-orthonormal cores with the norm in the last. A sender's word for it is not enough: cores
/// that are not so are made so.
TensorTrain<double> left_orthonormal(std::vector<Tensor<double>> cores);

}  // namespace couplet
