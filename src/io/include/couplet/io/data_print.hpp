#pragma once

#include <span>
#include <string>

#include "couplet/tensor/tensor.hpp"
#include "couplet/tt/tensor_train.hpp"

namespace couplet {

/// A tensor's shape and numbers in 16 letters: two tensors that differ in anything have different ones, but for one
/// chance in 2^64. It tells data that was changed since, not data that somebody made up: whoever wants to can find a
/// second tensor for it.
std::string data_print(TensorView<const double> x);

/// The same of the cores of a train, in their order: by it a personal core says of which features it is.
std::string features_print(std::span<const Tensor<double>> cores);
std::string features_print(const TensorTrain<double>& features);

}  // namespace couplet
