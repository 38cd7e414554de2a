#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "couplet/experiments/knn.hpp"

namespace couplet {

/// Deals people to folds 0 ... folds - 1 in an order that the seed decides, each to the fold that has fewest of its
/// class at its site, then fewest of its site, of its class, of all. So every class of every site is spread as evenly
/// as it can be, and no fold holds all people of a site that has two. `sites` has the site of each person, from 0.
/// People with the same number in `groups` (nothing: everybody is a group) go where the first of them goes; they are of
/// one site. Where all of a site are one group, they are dealt one by one: otherwise nobody would be left to learn
/// from. Throws InputError unless 2 <= folds <= people and sizes agree. Cost: people times folds.
std::vector<Index> assign_folds(std::span<const Label> labels, std::span<const Index> sites, Index folds,
                                std::uint64_t seed, std::span<const Index> groups = {});

}  // namespace couplet
