#pragma once

#include <string>

#include "couplet/models/factors.hpp"

namespace couplet {

/// Patients in terms of a model.
struct Loadings {
    Matrix<double> values = {};  ///< patients x R
    double norm2 = 0;            ///< of the data
    double error2 = 0;           ///< ||X - values rows||^2
};

/// The loadings that fit X (patients x I2 x ... x IN) best, freely or with none negative (Lawson and Hanson's active
/// set on the Gram matrix, Bro and de Jong 1997). Cost: a contraction of X with the rows, then R^3 a patient at most.
/// Throws InputError, naming `where`, as project() does. Every patient by itself: no sum leaves the site.
Loadings fit_loadings(const TensorTrain<double>& rows, const TensorView<const double>& x, bool non_negative,
                      const std::string& where);

/// The same for patients of whom only the coordinates in orthonormal features are at hand (patients x R1): of their
/// projections, whose norms and errors these are.
Loadings fit_projected_loadings(const TensorTrain<double>& rows, const TensorTrain<double>& features,
                                MatrixView<const double> personal, bool non_negative);

/// min over y >= 0 of y G y^T / 2 - b y for each row b of `products`; G positive semidefinite.
Matrix<double> non_negative_least_squares(MatrixView<const double> products, MatrixView<const double> gram);

}  // namespace couplet
