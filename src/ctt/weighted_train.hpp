#pragma once

#include "couplet/ctt/blocks.hpp"

namespace couplet {

/// diag(sigma) V^T of orthonormal features.
TensorTrain<double> weighted_train(const Features& features);
/// Whether rows are few enough numbers to be multiplied out before they are coded.
bool can_expand(Index rows, const Shape& features);
/// The rows of a train, multiplied out.
Matrix<double> expanded(const TensorTrain<double>& train);

}  // namespace couplet
