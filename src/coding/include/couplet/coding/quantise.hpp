#pragma once

#include <cstdint>
#include <span>

#include "couplet/tensor/matrix.hpp"

namespace couplet {

/// q = sign(d) floor(|d|/step + t). t = 0.5 would round to the nearest; a dead zone around 0 saves up to a tenth of the
/// bytes at nearly the same error (0.33 to 0.4 measured best).
inline constexpr double rounding_offset = 0.4;

/// Throws InputError unless 0 < step < infinity and every |q| is at most largest_integer: the remedy is a step of at
/// least least_step(). `d` must be finite, or it is refused.
void quantise(std::span<const double> d, double step, std::span<std::int32_t> q);

struct Quantised {
    double error2 = 0;
    bool zero = true;  ///< every integer
};

/// The same integers and what they lose, in one pass that checks nothing: for finite numbers and a step that is at
/// least least_step() of them.
Quantised quantise_measured(std::span<const double> d, double step, std::span<std::int32_t> q) noexcept;

/// d = q * step, one multiplication a number: the same bits everywhere.
void dequantise(std::span<const std::int32_t> q, double step, std::span<double> d);

/// The smallest step with which these numbers can be quantised; the smallest positive normal number for zeros.
double least_step(std::span<const double> d);

}  // namespace couplet
