#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "cp.hpp"

namespace couplet {

/// The entries of a tensor that are not zero, in row-major order.
struct CoordinateList {
    Shape shape;
    std::vector<std::int32_t> indices;  ///< N for each entry
    std::vector<double> values;
};

/// The list when it makes mttkrp() faster than the dense tensor: nothing otherwise. An entry of the list costs about
/// eight times as much as one in a matrix product, for each mode.
std::optional<CoordinateList> sparse_form(TensorView<const double> x);

/// The list whatever its length. Throws InputError when a size does not fit in 32 bits.
CoordinateList coordinates(TensorView<const double> x);

/// X_(n) H as the dense mttkrp(); N R flops an entry.
Matrix<double> mttkrp(const CoordinateList& x, const Factors& factors, Index mode);

}  // namespace couplet
