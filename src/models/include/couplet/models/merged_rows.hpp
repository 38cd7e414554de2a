#pragma once

#include <span>
#include <string>
#include <vector>

#include "couplet/tt/tensor_train.hpp"

namespace couplet {

/// What a federation has merged, S = C V: the features V (R1 x I2 x ... x IN, orthonormal rows) as a train that is
/// never multiplied out, and how much lies in their directions. S^T S is the Gram matrix of all patients up to the
/// merge's error, which is all that a model fitted by least squares asks of them.
struct MergedRows {
    TensorTrain<double> features;
    Matrix<double> weights;  ///< C, R1 x R1; diag(sigma) from a merge

    /// ||S||, of any magnitude.
    double norm() const;
    MergedRows clone() const { return {features.clone(), Matrix<double>::copy(weights.view())}; }
};

/// From a merge: its features and their singular values. Throws InputError, naming `where`, where the features have
/// no singular values (a printed average), are not orthonormal, have fewer than 1 or more than 5 modes, or are all
/// zero.
MergedRows merged_rows(TensorTrain<double> features, std::span<const double> sigma, const std::string& where);

/// Of the patients whose coordinates in these features are the rows of `personal` (several sites): C^T C is the sum of
/// their Gram matrices.
MergedRows rows_of_patients(const TensorTrain<double>& features, std::span<const MatrixView<const double>> personal);

}  // namespace couplet
