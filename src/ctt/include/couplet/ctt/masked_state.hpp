#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "couplet/ctt/released.hpp"
#include "couplet/tensor/shape.hpp"

namespace couplet {

/// Masked integers as a state of a consensus: two numbers each, the lower 32 bits and the upper ones, which add up
/// without rounding over all nodes of any network. Whoever calls it has masked them: what is released says nothing
/// without all the others'.
Released<std::vector<double>> release_masked(std::span<const std::uint64_t> masked);

/// What says nothing of anybody's data: sums of such states over some of the nodes, and public keys.
Released<std::vector<double>> release_public(std::span<const double> state);

/// The sum of such integers over all nodes from the average of their states, modulo the ring of integers within `mask`
/// (2^bits - 1). Throws InputError for an average that no such states have.
std::vector<std::uint64_t> sum_of_masked(std::span<const double> average, Index nodes, std::uint64_t mask);

}  // namespace couplet
