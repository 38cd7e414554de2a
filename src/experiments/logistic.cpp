#include "couplet/experiments/logistic.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "couplet/core/error.hpp"
#include "couplet/linalg/eigen.hpp"
#include "couplet/linalg/products.hpp"

namespace couplet {
namespace {

/// Rows become probabilities.
void softmax_rows(Matrix<double>& scores) {
    for (Index i = 0; i < scores.rows(); ++i) {
        double* row = scores.view().row(i);
        const double top = *std::max_element(row, row + scores.cols());
        double sum = 0;
        for (Index c = 0; c < scores.cols(); ++c) sum += row[c] = std::exp(row[c] - top);
        for (Index c = 0; c < scores.cols(); ++c) row[c] /= sum;
    }
}

/// Gradient of the mean loss and the ridge at `weights`.
Matrix<double> gradient_at(const Matrix<double>& weights, const Matrix<double>& x, const Matrix<double>& targets,
                           double ridge) {
    Matrix<double> errors = product<double>(x.view(), weights.view());
    softmax_rows(errors);
    for (Index i = 0; i < errors.size(); ++i) errors.data()[i] -= targets.data()[i];
    Matrix<double> gradient(weights.rows(), weights.cols());
    multiply<double>(x.view(), Op::transpose, errors.view(), Op::none, gradient.view(),
                     1 / static_cast<double>(x.rows()));
    const Index penalised = weights.size() - weights.cols();
    for (Index i = 0; i < penalised; ++i) gradient.data()[i] += ridge * weights.data()[i];
    return gradient;
}

/// An upper bound on the curvature: the Hessian of softmax is at most half the identity.
double curvature(const Matrix<double>& x, double ridge) {
    const auto moments = gram<double>(x.view(), Side::right);
    return 0.5 * symmetric_eigen(moments.view(), 1).values.front() / static_cast<double>(x.rows()) + ridge;
}

Matrix<double> one_hot(std::span<const Label> labels, const std::vector<Label>& classes) {
    auto targets = Matrix<double>::zeros(static_cast<Index>(labels.size()), static_cast<Index>(classes.size()));
    for (std::size_t i = 0; i < labels.size(); ++i) {
        const auto at = std::lower_bound(classes.begin(), classes.end(), labels[i]) - classes.begin();
        targets(static_cast<Index>(i), at) = 1;
    }
    return targets;
}

}  // namespace

LogisticModel::LogisticModel(MatrixView<const double> x, std::span<const Label> labels,
                             const LogisticOptions& options) {
    if (x.rows < 1 || static_cast<Index>(labels.size()) != x.rows || !(options.ridge > 0)) {
        throw InputError({"logistic regression",
                          std::to_string(x.rows) + " people with " + std::to_string(labels.size()) + " labels, ridge " +
                              std::to_string(options.ridge),
                          "people, a label for each, and a positive ridge", ""});
    }
    classes_.assign(labels.begin(), labels.end());
    std::sort(classes_.begin(), classes_.end());
    classes_.erase(std::unique(classes_.begin(), classes_.end()), classes_.end());
    const auto rows = static_cast<double>(x.rows);
    for (Index j = 0; j < x.cols; ++j) {
        double mean = 0;
        double square = 0;
        for (Index i = 0; i < x.rows; ++i) mean += x(i, j) / rows;
        for (Index i = 0; i < x.rows; ++i) square += (x(i, j) - mean) * (x(i, j) - mean) / rows;
        mean_.push_back(mean);
        inverse_deviation_.push_back(square > 0 ? 1 / std::sqrt(square) : 0);
    }
    const Matrix<double> inputs = prepared(x);
    const Matrix<double> targets = one_hot(labels, classes_);
    const double step = 1 / curvature(inputs, options.ridge);
    weights_ = Matrix<double>::zeros(inputs.cols(), targets.cols());
    Matrix<double> ahead = Matrix<double>::copy(weights_.view());
    double momentum = 1;
    for (iterations_ = 0; iterations_ < options.max_iterations; ++iterations_) {
        const Matrix<double> gradient = gradient_at(ahead, inputs, targets, options.ridge);
        if (max_magnitude<double>(gradient.view()) <= options.tolerance) break;
        double uphill = 0;
        for (Index i = 0; i < ahead.size(); ++i) {
            const double next = ahead.data()[i] - step * gradient.data()[i];
            uphill += gradient.data()[i] * (next - weights_.data()[i]);
        }
        if (uphill > 0) momentum = 1;
        const double next_momentum = (1 + std::sqrt(1 + 4 * momentum * momentum)) / 2;
        const double push = (momentum - 1) / next_momentum;
        for (Index i = 0; i < ahead.size(); ++i) {
            const double next = ahead.data()[i] - step * gradient.data()[i];
            ahead.data()[i] = next + push * (next - weights_.data()[i]);
            weights_.data()[i] = next;
        }
        momentum = next_momentum;
    }
}

Matrix<double> LogisticModel::prepared(MatrixView<const double> x) const {
    if (x.cols != static_cast<Index>(mean_.size())) {
        throw InputError({"logistic regression", std::to_string(x.cols) + " columns",
                          std::to_string(mean_.size()) + " as in training", ""});
    }
    Matrix<double> result(x.rows, x.cols + 1);
    for (Index i = 0; i < x.rows; ++i) {
        for (Index j = 0; j < x.cols; ++j) {
            const auto at = static_cast<std::size_t>(j);
            result(i, j) = (x(i, j) - mean_[at]) * inverse_deviation_[at];
        }
        result(i, x.cols) = 1;
    }
    return result;
}

Matrix<double> LogisticModel::probabilities(MatrixView<const double> x) const {
    Matrix<double> scores = product<double>(prepared(x).view(), weights_.view());
    softmax_rows(scores);
    return scores;
}

std::vector<Label> LogisticModel::classify(MatrixView<const double> x) const {
    const Matrix<double> p = probabilities(x);
    std::vector<Label> guessed;
    for (Index i = 0; i < p.rows(); ++i) {
        const double* row = p.view().row(i);
        guessed.push_back(classes_[static_cast<std::size_t>(std::max_element(row, row + p.cols()) - row)]);
    }
    return guessed;
}

}  // namespace couplet
