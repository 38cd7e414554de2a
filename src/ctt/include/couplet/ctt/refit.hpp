#pragma once

#include <optional>

#include "couplet/ctt/blocks.hpp"

namespace couplet {

struct PersonalFit {
    Matrix<double> personal;  ///< G_1, I1 x R1
    double norm2 = 0;         ///< ||X||^2
    double error2 = 0;        ///< ||X - G_1 W||^2
};

/// Projects X (I1 x I2 x ... x IN) onto orthonormal features: G_1 = X W^T. Contracts from the right or multiplies W out
/// first, whichever is cheaper. The error comes from the norms, or from the explicit residual where those cancel.
/// `norm2` is ||X||^2 where the caller has it. Throws InputError when the feature modes differ, and for a norm that
/// job_norm2 refuses.
PersonalFit refit(const TensorView<const double>& x, const Features& features, std::optional<double> norm2 = {});

/// Error of U W for a personal core that stays as it is: U orthonormal with U^T X = `weighted` (R1 x P), W the features
/// as they are.
double fixed_error2(const TensorView<const double>& x, const Matrix<double>& weighted, const Features& features);

/// Same row space, orthonormal and ordered by importance; directions that are rounding are left out.
Features orthonormal_features(const TensorTrain<double>& weighted);

}  // namespace couplet
