#pragma once

#include <span>

#include "couplet/tensor/matrix.hpp"

/// Which directions of a result are of the data and which of the errors that it was computed with is decided here, for
/// every aggregate. A direction counts where its singular value is above the noise: the spectral norm of all that the
/// numbers may be off by. Below it a vector is that of the errors, another with every unit and every rounding, and
/// would be given length one all the same.
namespace couplet {

/// Directions above the noise, of singular values (or their squares, with the noise of squares) that fall. At least 1.
Index numerical_rank(std::span<const double> values, double noise) noexcept;

/// Noise of singular values of a matrix of this size and Frobenius norm, computed in doubles: 2^-52 (rows + cols) norm.
double rounding_noise(Index rows, Index cols, double norm) noexcept;

/// Noise of eigenvalues of a sum of Gram matrices with this trace: gram_limit^2 of it, below which none can be trusted.
double gram_noise(double trace) noexcept;

/// Noise of a matrix whose numbers carry independent errors of one standard deviation: its largest singular value is
/// about deviation (sqrt(rows) + sqrt(cols)) (Davidson and Szarek 2001).
double white_noise(Index rows, Index cols, double deviation) noexcept;

/// The same where the errors are known as the norm of all of them together.
double spread_noise(Index rows, Index cols, double norm) noexcept;

/// Standard deviation of a sum of so many numbers that were each rounded to a step.
double step_deviation(double step, Index terms) noexcept;

}  // namespace couplet
