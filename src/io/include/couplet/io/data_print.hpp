#pragma once

#include <string>

#include "couplet/tensor/tensor.hpp"

namespace couplet {

/// A tensor's shape and numbers in 16 letters: two tensors that differ in anything have different ones, but for one
/// chance in 2^64. It tells data that was changed since, not data that somebody made up: whoever wants to can find a
/// second tensor for it.
std::string data_print(TensorView<const double> x);

}  // namespace couplet
