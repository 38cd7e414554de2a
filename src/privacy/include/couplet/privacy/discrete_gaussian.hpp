#pragma once

#include <cstdint>

#include "couplet/privacy/noise.hpp"

namespace couplet {

/// The discrete Gaussian on the integers, P(k) proportional to exp(-k^2 / (2 variance)), drawn exactly (Canonne, Kamath
/// and Steinke 2020): integers alone, no floating point whose last bits could tell what the noise hides. Privacy is
/// that of the continuous Gaussian (the same rho) for integers that one person changes by integers. Sums of several are
/// discrete Gaussian too, up to a probability below 1e-30 where each has a variance of 9 or more.

/// More would leave the integers of 128 bits that probabilities are fractions of.
inline constexpr std::uint64_t most_noise_variance = std::uint64_t{1} << 50;

/// Throws InputError unless 1 <= variance <= most_noise_variance. Cost: some 20 words of the stream.
std::int64_t discrete_gaussian(NoiseSource& source, std::uint64_t variance);

/// P(k) proportional to exp(-|k| / scale); 1 <= scale <= 2^26.
std::int64_t discrete_laplace(NoiseSource& source, std::uint64_t scale);

/// True with probability exp(-numerator / denominator), exactly.
bool bernoulli_exp(NoiseSource& source, std::uint64_t numerator, std::uint64_t denominator);

}  // namespace couplet
