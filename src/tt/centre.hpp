#pragma once

#include <vector>

#include "couplet/linalg/products.hpp"
#include "couplet/tt/tt_svd.hpp"

namespace couplet {

/// Sizes of what is left of the tensor between the cores peeled so far: `left` x modes[first, last) x `right`.
struct Centre {
    std::vector<Index> modes;
    std::size_t first = 0;
    std::size_t last = 0;
    Index left = 1;
    Index right = 1;

    Index size() const {
        Index total = left * right;
        for (std::size_t n = first; n < last; ++n) total *= modes[n];
        return total;
    }
};

/// One end that could be peeled next.
struct End {
    Side side;
    std::size_t count = 1;  ///< modes in the group
    Index own = 1;          ///< bond times their sizes
};

/// Which ends there are to choose from.
enum class Offered { both, right };

/// Limit of the bond that the (j+1)-th mode from the outside closes at this end of the centre.
const BondLimit& limit_at(const Centre& centre, const std::vector<BondLimit>& limits, Side side, std::size_t j);

/// Where ranks cut both ends, the end to begin with for the fewest flops: mostly the one that is cut more, which also
/// leaves the smaller error, because the other end is then cut of what is left. Else the end whose Gram matrix is
/// smaller: being the short side, it never needs the long side's vectors.
End choose_end(const Centre& centre, const std::vector<BondLimit>& limits, Offered offered);

/// All of a tensor as the centre, modes of size 1 left out; of ones alone the first stays.
Centre start_centre(const Shape& shape);

}  // namespace couplet
