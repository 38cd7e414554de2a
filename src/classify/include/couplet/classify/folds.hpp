#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "couplet/experiments/knn.hpp"

namespace couplet {

/// Deals people to folds 0 ... folds - 1 in an order that the seed decides, each to the fold that has fewest of its
/// class at its site, then fewest of its site, of its class, of all. So every class of every site is spread as evenly
/// as it can be, and no fold holds all people of a site that has two. `sites` has the site of each person, from 0.
/// Throws InputError unless 2 <= folds <= people and sizes agree. Cost: people times folds.
std::vector<Index> assign_folds(std::span<const Label> labels, std::span<const Index> sites, Index folds,
                                std::uint64_t seed);

}  // namespace couplet
