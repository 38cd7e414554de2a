#include "couplet/experiments/logistic.hpp"

#include <algorithm>
#include <cmath>
#include <deque>
#include <numeric>
#include <optional>
#include <string>
#include <utility>

#include "couplet/core/error.hpp"
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

/// A place on the way down.
struct Point {
    Matrix<double> weights;
    Matrix<double> gradient;
    double loss = 0;
};

/// The mean loss with its ridge, and its gradient.
class Objective {
  public:
    Objective(const Matrix<double>& x, const Matrix<double>& targets, double ridge)
        : x_(x), targets_(targets), ridge_(ridge) {}

    Point at(Matrix<double> weights) const {
        Matrix<double> scores = product<double>(x_.view(), weights.view());
        const auto rows = static_cast<double>(x_.rows());
        double loss = 0;
        for (Index i = 0; i < scores.rows(); ++i) loss += row_loss(scores.view().row(i), i) / rows;
        Matrix<double> gradient(weights.rows(), weights.cols());
        multiply<double>(x_.view(), Op::transpose, scores.view(), Op::none, gradient.view(), 1 / rows);
        const Index penalised = weights.size() - weights.cols();
        for (Index i = 0; i < penalised; ++i) {
            loss += ridge_ / 2 * weights.data()[i] * weights.data()[i];
            gradient.data()[i] += ridge_ * weights.data()[i];
        }
        return {std::move(weights), std::move(gradient), loss};
    }

  private:
    /// -log p of the row's class; scores become probabilities minus targets.
    double row_loss(double* scores, Index i) const {
        const Index classes = targets_.cols();
        const double top = *std::max_element(scores, scores + classes);
        double sum = 0;
        double own = 0;
        for (Index c = 0; c < classes; ++c) {
            if (targets_(i, c) > 0) own = scores[c] - top;
            sum += scores[c] = std::exp(scores[c] - top);
        }
        for (Index c = 0; c < classes; ++c) scores[c] = scores[c] / sum - targets_(i, c);
        return std::log(sum) - own;
    }

    const Matrix<double>& x_;
    const Matrix<double>& targets_;
    double ridge_;
};

double dot(const Matrix<double>& a, const Matrix<double>& b) {
    return std::inner_product(a.data(), a.data() + a.size(), b.data(), 0.0);
}

/// a + factor b.
Matrix<double> sum(const Matrix<double>& a, double factor, const Matrix<double>& b) {
    Matrix<double> result(a.rows(), a.cols());
    for (Index i = 0; i < a.size(); ++i) result.data()[i] = a.data()[i] + factor * b.data()[i];
    return result;
}

/// The last steps and how the gradient changed over them: what L-BFGS knows of the curvature.
class Curvature {
  public:
    void learn(Matrix<double> step, Matrix<double> change) {
        const double product = dot(step, change);
        if (!(product > 0)) return;  // rounding: the objective is convex
        pairs_.push_back({std::move(step), std::move(change), product});
        if (pairs_.size() > remembered) pairs_.pop_front();
    }
    /// Minus the gradient times the inverse of the curvature (the two-loop recursion; Nocedal and Wright, alg. 7.4).
    Matrix<double> downhill(const Matrix<double>& gradient) const {
        Matrix<double> q = Matrix<double>::copy(gradient.view());
        std::vector<double> alphas(pairs_.size());
        for (std::size_t i = pairs_.size(); i-- > 0;) {
            alphas[i] = dot(pairs_[i].step, q) / pairs_[i].product;
            q = sum(q, -alphas[i], pairs_[i].change);
        }
        const double scale =
            pairs_.empty() ? 1 : pairs_.back().product / dot(pairs_.back().change, pairs_.back().change);
        for (Index i = 0; i < q.size(); ++i) q.data()[i] *= scale;
        for (std::size_t i = 0; i < pairs_.size(); ++i) {
            q = sum(q, alphas[i] - dot(pairs_[i].change, q) / pairs_[i].product, pairs_[i].step);
        }
        for (Index i = 0; i < q.size(); ++i) q.data()[i] = -q.data()[i];
        return q;
    }

  private:
    struct Pair {
        Matrix<double> step;
        Matrix<double> change;
        double product;
    };
    static constexpr std::size_t remembered = 20;
    std::deque<Pair> pairs_;
};

/// The first of the steps 1, 1/2, 1/4, ... that goes down as far as the slope promises (Armijo); nothing where rounding
/// is larger than what is left to gain.
std::optional<Point> go_down(const Objective& objective, const Point& from, const Matrix<double>& direction) {
    constexpr double enough = 1e-4;
    const double slope = dot(from.gradient, direction);
    for (double length = 1; length > 1e-12; length /= 2) {
        Point next = objective.at(sum(from.weights, length, direction));
        if (next.loss <= from.loss + enough * length * slope) return next;
    }
    return {};
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
    for (Index j = 0; j < x.cols; ++j) add_column(x, j);
    const Matrix<double> inputs = prepared(x);
    const Matrix<double> targets = one_hot(labels, classes_);
    const Objective objective(inputs, targets, options.ridge);
    Point at = objective.at(Matrix<double>::zeros(inputs.cols(), targets.cols()));
    Curvature curvature;
    for (iterations_ = 0; iterations_ < options.max_iterations; ++iterations_) {
        if (max_magnitude<double>(at.gradient.view()) <= options.tolerance) break;
        std::optional<Point> next = go_down(objective, at, curvature.downhill(at.gradient));
        if (!next) break;
        curvature.learn(sum(next->weights, -1, at.weights), sum(next->gradient, -1, at.gradient));
        at = std::move(*next);
    }
    weights_ = std::move(at.weights);
}

/// Mean and deviation of a column, computed at a magnitude of one: squares of numbers like 1e160 are no numbers. What
/// varies by rounding alone is constant.
void LogisticModel::add_column(MatrixView<const double> x, Index j) {
    constexpr double rounding = 1e-13;
    const auto rows = static_cast<double>(x.rows);
    double most = 0;
    for (Index i = 0; i < x.rows; ++i) most = std::max(most, std::abs(x(i, j)));
    double mean = 0;
    double square = 0;
    if (most > 0) {
        for (Index i = 0; i < x.rows; ++i) mean += x(i, j) / most / rows;
        for (Index i = 0; i < x.rows; ++i) square += std::pow(x(i, j) / most - mean, 2) / rows;
    }
    mean_.push_back(mean * most);
    deviation_.push_back(std::sqrt(square) > rounding ? std::sqrt(square) * most : 0);
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
            result(i, j) = deviation_[at] > 0 ? (x(i, j) - mean_[at]) / deviation_[at] : 0;
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
