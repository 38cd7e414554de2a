#pragma once

#include <cstddef>

#include "couplet/tensor/tensor.hpp"

namespace couplet {

/// Row-major copy of `shape.size()` elements stored with the first index fastest. The source needs no
/// alignment. One read and one write of the data, in tiles so that both sides use whole cache lines; runs on
/// all threads.
template <Real T>
Tensor<T> from_fortran(const std::byte* source, const Shape& shape);

}  // namespace couplet
