#pragma once

#include <vector>

#include "couplet/tensor/matrix.hpp"
#include "couplet/tensor/tensor.hpp"

namespace couplet {

/// One direction of the features that is a product of one basis vector for every mode.
struct ModeProduct {
    std::vector<Index> vector;  ///< its number in each mode
    double weight = 0;          ///< product of the eigenvalues, as parts of 1
};

/// Orthonormal bases of the feature modes, each by descending eigenvalue, and the products of most weight, descending.
struct ModeBasis {
    std::vector<Matrix<double>> vectors;      ///< I_n x I_n, basis vectors as columns
    std::vector<std::vector<double>> values;  ///< their eigenvalues, those below 0 as 0
    std::vector<ModeProduct> products;
};

/// The `count` products of largest weight (all where there are fewer), from eigenvalues of each mode, descending and
/// not negative; of equal weights the lowest numbers first. Cost: count log(count) steps, however many products there
/// are.
std::vector<ModeProduct> leading_products(const std::vector<std::vector<double>>& values, Index count);

/// From estimates of sum_p X_p(n) X_p(n)^T for every feature mode; negative eigenvalues count as zero.
ModeBasis make_mode_basis(const std::vector<Matrix<double>>& sums, Index count);

/// For every feature mode n: sum_p X_p(n) X_p(n)^T, I_n x I_n.
std::vector<Matrix<double>> mode_grams(const TensorView<const double>& x);

/// Coordinates of every record on the first `count` products: rows of x times count.
Matrix<double> product_coordinates(const TensorView<const double>& x, const ModeBasis& basis, Index count);

/// Rows of coefficients on the products (R x products) as rows over the features, R x (I2 ... IN).
Matrix<double> expand_products(MatrixView<const double> coefficients, const ModeBasis& basis);

}  // namespace couplet
