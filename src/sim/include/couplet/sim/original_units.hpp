#pragma once

#include <string>

#include "couplet/ctt/blocks.hpp"
#include "couplet/ctt/centring.hpp"
#include "couplet/tensor/tensor.hpp"

namespace couplet {

/// A fit to data that was moved, scaled or weighted, in the units that the data came in.
struct OriginalFit {
    double error2 = 0;  ///< ||X - Xhat||^2 with the centring undone
    double norm2 = 0;   ///< ||X||^2
};

/// `x` is a client's data as it came, of which entries that are NaN do not count, `personal` its coordinates in the
/// features of the data after `centring`. Throws InputError, naming `who`, where they do not fit. Cost: the product of
/// both, written out.
OriginalFit original_fit(const TensorView<const double>& x, const Matrix<double>& personal, const Features& features,
                         const Centring& centring, const std::string& who);

}  // namespace couplet
