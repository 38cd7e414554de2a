#pragma once

#include "couplet/ctt/blocks.hpp"

namespace couplet {

/// Orthonormal features quantised and coded, so that they travel in few bytes and everybody decodes the same bits. What
/// is lost is at most `loss` of the norm of all weighted directions together; directions that weigh less than the step
/// are left out. The features themselves where that asks for more than 30 bits a number.
/// Cost: of code_rows().
Features coded_features(const Features& features, double loss);

}  // namespace couplet
