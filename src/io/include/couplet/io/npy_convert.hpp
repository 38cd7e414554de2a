#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>

#include "couplet/io/npy_header.hpp"
#include "couplet/tensor/tensor.hpp"

namespace couplet {

/// What elements that are no tensor's are called, where they can become one without loss: bool, whole numbers of 8 to
/// 64 bits, float16, and big-endian float32 and float64; "int64" for example. Nothing for all others, and for those
/// that need no conversion.
std::optional<std::string> convertible_elements(const NpyHeader& header);

/// The elements of an array in float64 and row-major order. `bytes` are the whole file, whose size fits the header; the
/// header is one of convertible_elements(). Throws InputError, naming `where`, for a tensor that cannot be (see
/// require_tensor_header) and for a whole number that float64 does not hold.
Tensor<double> convert_elements(std::span<const std::byte> bytes, const NpyHeader& header, const std::string& where);

}  // namespace couplet
