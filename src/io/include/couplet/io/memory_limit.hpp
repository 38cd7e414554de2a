#pragma once

#include "couplet/tensor/shape.hpp"

namespace couplet {

/// Bytes that this process may have: of the machine, or less where its resource limits or its control group say so.
Index memory_limit();

}  // namespace couplet
