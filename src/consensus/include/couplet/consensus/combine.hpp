#pragma once

#include "couplet/tensor/shape.hpp"

namespace couplet {

/// The arithmetic of every consensus engine, element by element over `count` numbers. Node state machines and the
/// in-process runner do the same operations in the same order, which is why they agree bit for bit; this module is
/// compiled without fused multiply-add, so that they do on every processor.

/// sum += weight * (other - own). Differences keep a common value exactly fixed and cancel exactly over a
/// link.
void add_difference(double* sum, const double* own, const double* other, double weight, Index count);

/// previous <- own + (gain * sum + momentum * (own - previous)): the next state replaces the one before the
/// current. A momentum of 0 does not read `previous`.
void step_state(double* previous, const double* own, const double* sum, double gain, double momentum, Index count);

/// add_difference() from zero over all `degree` neighbours in order, then step_state(), in one pass with the sums in
/// registers.
void mix_states(double* previous, const double* own, const double* const* others, const double* weights, Index degree,
                double gain, double momentum, Index count);

/// sum += other.
void add_state(double* sum, const double* other, Index count);

/// sum <- sum / parts.
void divide_state(double* sum, double parts, Index count);

}  // namespace couplet
