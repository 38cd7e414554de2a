#pragma once

#include <vector>

#include "couplet/consensus/graph.hpp"

namespace couplet {

/// The distinct nonzero eigenvalues of the Laplacian of a connected graph, ascending; none for one node.
/// Eigenvalues within 1e-13 K l_max of the first of a group count as one, with the group's mean as value.
/// Cost: 4/3 K^3 flops. Throws InputError for a disconnected graph.
std::vector<double> distinct_laplacian_eigenvalues(const Graph& graph);

/// The points in Leja order: the largest modulus first, then always the point whose product of distances to
/// those before is largest (the earliest on a tie within 1e-9, so that rounding in symmetric spectra does not decide).
/// A product of factors 1 - x/l_t stays small in this order and explodes in a sorted one. Points must be distinct.
/// O(m^2).
std::vector<double> leja_order(std::vector<double> points);

}  // namespace couplet
