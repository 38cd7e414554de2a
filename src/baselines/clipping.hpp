#pragma once

#include "couplet/baselines/run_method.hpp"
#include "cp.hpp"

namespace couplet {

/// Gradient of 1/2 ||X - [[A, B, C]]||^2 by B (mode 1) or C (mode 2) for X of third order, as a sum over the patients
/// of mode 0 with every patient's part scaled down to a norm of at most `clip`: one patient more or less changes it by
/// at most `clip`. 2 |X| R flops.
Matrix<double> clipped_gradient(TensorView<const double> x, const Factors& factors, Index mode, double clip);

/// So many releases with Gaussian noise of `noise` times their sensitivity, composed in zCDP (Bun and Steinke 2016):
/// rho = releases / (2 noise^2), epsilon = rho + 2 sqrt(rho ln(1 / delta)).
DpStatement gaussian_composition(double noise, Index releases, double delta);

}  // namespace couplet
