#pragma once

#include <memory>
#include <optional>

#include "coordinates.hpp"
#include "couplet/baselines/tuning.hpp"
#include "couplet/core/random.hpp"
#include "cp.hpp"

namespace couplet {

/// Gradient of an objective by one factor, and a bound on its curvature there: a step of 1 / curvature never overshoots
/// (on the sample, where it was sampled).
struct Gradient {
    Matrix<double> value;  ///< I_n x R
    double curvature = 0;  ///< largest eigenvalue of the (sampled) Khatri-Rao Gram matrix; a fourth of it if logistic
};

/// How well a model fits one client.
struct CpFit {
    double error2 = 0;     ///< ||X - M||^2, or ||X - 1 / (1 + exp(-M))||^2 for the logistic loss
    double objective = 0;  ///< error2 / 2, or the logistic loss
};

/// What one client minimises: the loss of its tensor and a CP model. Square-loss products use a coordinate list where
/// that is faster.
class CpObjective {
  public:
    CpObjective(std::shared_ptr<const Tensor<double>> x, Loss loss);

    const Shape& shape() const noexcept { return x_->shape(); }
    TensorView<const double> tensor() const { return x_->view(); }
    double norm2() const noexcept { return norm2_; }
    /// Every entry is zero, which a squared norm of zero does not say.
    bool is_zero() const;
    bool is_sparse() const noexcept { return sparse_.has_value(); }

    Matrix<double> mttkrp(const Factors& factors, Index mode) const;
    /// Exact; 2 |X| R flops for the square loss, twice that for the logistic.
    Gradient gradient(const Factors& factors, Index mode) const;
    /// Unbiased estimate from `count` random fibers of the mode; exact when count is 0 or all fibers are asked for.
    /// 4 I_n |S| R flops.
    Gradient gradient(const Factors& factors, Index mode, Index count, Random& random) const;
    /// From norms and inner products, without forming the model: good to about 1e-14 of ||X||^2.
    CpFit fit(const Factors& factors) const;
    /// The best A_1 for these shared factors: least squares, or 100 accelerated gradient steps on the logistic loss.
    Matrix<double> best_personal(const Factors& factors) const;

  private:
    /// 1 / (1 + exp(-M)) - X in the shape of X.
    Tensor<double> logistic_residual(const Factors& factors) const;

    std::shared_ptr<const Tensor<double>> x_;
    Loss loss_;
    double norm2_;
    std::optional<CoordinateList> sparse_;
};

/// Throws InputError naming the client (from 0) unless every entry is 0 or 1.
void require_zeros_and_ones(TensorView<const double> x, Index client);

}  // namespace couplet
