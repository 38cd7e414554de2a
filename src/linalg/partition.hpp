#pragma once

#include <algorithm>

#include "couplet/tensor/shape.hpp"

namespace couplet {

/// Ranges of a fixed partition: part p of `count` covers [begin(p), begin(p + 1)), boundaries on multiples of
/// `grain`. It depends on its arguments alone, so that results do not depend on who does which part.
struct Partition {
    Index size;
    Index count;
    Index grain;
    Partition(Index n, Index parts, Index g)
        : size(n), count(std::clamp<Index>(parts, 1, std::max<Index>(1, n / g))), grain(g) {}
    Index begin(Index p) const { return p == count ? size : size * p / count / grain * grain; }
    Index length(Index p) const { return begin(p + 1) - begin(p); }
};

}  // namespace couplet
