#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "couplet/tensor/matrix.hpp"

namespace couplet::reference {

/// The bytes of encode_integers() by its definition: every context is computed anew from all numbers before, and the
/// interval's lower end is one long number whose carries are propagated. Quadratic in the size; for tests.
std::vector<std::byte> encode_integers(MatrixView<const std::int32_t> q, Index inner);

}  // namespace couplet::reference
