#pragma once

#include <vector>

#include "couplet/core/random.hpp"
#include "cp.hpp"

namespace couplet {

/// Fibers of one mode drawn with equal probability, with replacement.
struct Fibers {
    Index mode = 0;
    std::vector<Index> starts;   ///< position in row-major storage of each fiber's first element, ascending
    Index stride = 1;            ///< between its elements
    std::vector<Index> indices;  ///< N for each fiber, 0 at `mode`
};

/// Fibers that a mode has: the product of the other sizes.
Index fiber_count(const Shape& shape, Index mode);

Fibers sample_fibers(const Shape& shape, Index mode, Index count, Random& random);

/// X_(n)[:, S], I_n x |S|.
Matrix<double> gather(TensorView<const double> x, const Fibers& fibers);

/// The rows S of the Khatri-Rao product of the other modes, |S| x R.
Matrix<double> sampled_khatri_rao(const Factors& factors, const Fibers& fibers);

}  // namespace couplet
