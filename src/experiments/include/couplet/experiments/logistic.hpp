#pragma once

#include <span>
#include <vector>

#include "couplet/experiments/knn.hpp"

namespace couplet {

struct LogisticOptions {
    double ridge = 1e-3;  ///< weight of 1/2 ||B||^2 beside the mean loss, > 0; the intercepts are free
    Index max_iterations = 2000;
    double tolerance = 1e-6;  ///< on the largest entry of the gradient
};

/// Multinomial logistic regression on standardised columns.
class LogisticModel {
  public:
    /// Minimises mean_i -log p(label_i | x_i) + ridge/2 ||B||^2 by accelerated gradient steps of length 1/L, L = half
    /// the largest eigenvalue of the second moments plus the ridge, restarted where momentum goes uphill. Columns get
    /// mean 0 and deviation 1; a constant one says nothing. Throws InputError when there are no rows, one label per row
    /// is missing, or the ridge is not positive.
    LogisticModel(MatrixView<const double> x, std::span<const Label> labels, const LogisticOptions& options = {});

    /// The most probable class of every row.
    std::vector<Label> classify(MatrixView<const double> x) const;
    /// Rows x classes, classes ascending; rows sum to 1.
    Matrix<double> probabilities(MatrixView<const double> x) const;
    const std::vector<Label>& classes() const noexcept { return classes_; }
    Index iterations() const noexcept { return iterations_; }

  private:
    /// Standardised, with a column of ones behind.
    Matrix<double> prepared(MatrixView<const double> x) const;

    std::vector<Label> classes_;
    std::vector<double> mean_;
    std::vector<double> inverse_deviation_;
    Matrix<double> weights_;  ///< (columns + 1) x classes, the intercepts last
    Index iterations_ = 0;
};

}  // namespace couplet
