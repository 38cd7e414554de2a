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
    /// Minimises mean_i -log p(label_i | x_i) + ridge/2 ||B||^2 by L-BFGS: the ridge keeps it finite where the classes
    /// can be separated. Columns get mean 0 and deviation 1, whatever their magnitude; a constant one says nothing.
    /// Throws InputError when there are no rows, one label per row is missing, or the ridge is not positive.
    LogisticModel(MatrixView<const double> x, std::span<const Label> labels, const LogisticOptions& options = {});

    /// The most probable class of every row.
    std::vector<Label> classify(MatrixView<const double> x) const;
    /// Rows x classes, classes ascending; rows sum to 1.
    Matrix<double> probabilities(MatrixView<const double> x) const;
    const std::vector<Label>& classes() const noexcept { return classes_; }
    Index iterations() const noexcept { return iterations_; }
    /// (columns + 1) x classes, of standardised columns, the intercepts last.
    MatrixView<const double> weights() const noexcept { return weights_.view(); }

  private:
    void add_column(MatrixView<const double> x, Index j);
    /// Standardised, with a column of ones behind.
    Matrix<double> prepared(MatrixView<const double> x) const;

    std::vector<Label> classes_;
    std::vector<double> mean_;
    std::vector<double> deviation_;  ///< 0: constant
    Matrix<double> weights_;
    Index iterations_ = 0;
};

}  // namespace couplet
