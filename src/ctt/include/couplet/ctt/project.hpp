#pragma once

#include <string>
#include <vector>

#include "couplet/tt/tensor_train.hpp"

namespace couplet {

struct Projection {
    Matrix<double> personal;          ///< G_1, I1 x R1
    double rse = 0;                   ///< ||X - G_1 W||^2 / ||X||^2, of the known entries; 0 for zeros
    double missing = 0;               ///< part of the entries that are not known
    std::vector<Index> loose = {};    ///< patients with too little known for all directions
    std::vector<Index> unknown = {};  ///< patients of whom nothing is known
};

/// Embeds new patients: the personal core that fits X (I1 x I2 x ... x IN) best, in the sense of least squares, while
/// the features W stay as they are. The features need not be orthonormal; where their rows depend on one another the
/// core is the one of least norm. Magnitudes whose squares would overflow or vanish are scaled by a power of two
/// meanwhile. Cost: that of refit(), and for features that are not orthonormal one SVD of them. Throws InputError,
/// naming `where`, for NaN, infinity and a core beyond the range of double, and when the feature modes differ.
Projection project(const TensorTrain<double>& features, const TensorView<const double>& x, const std::string& where);

/// The same where NaN stands for entries that nobody knows: every patient is fitted to what is known of it (see
/// fit_known()).
Projection project_incomplete(const TensorTrain<double>& features, const TensorView<const double>& x,
                              const std::string& where);

}  // namespace couplet
