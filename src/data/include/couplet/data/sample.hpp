#pragma once

#include <cstdint>
#include <vector>

#include "couplet/tensor/shape.hpp"

namespace couplet {

/// `count` different numbers out of 0, ..., total - 1, every ordered choice equally likely, the same for the same seed.
/// With count = total this is a shuffle. Throws InputError unless 0 <= count <= total.
std::vector<Index> sample_without_replacement(Index total, Index count, std::uint64_t seed);

}  // namespace couplet
