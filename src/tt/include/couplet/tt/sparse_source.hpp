#pragma once

#include <memory>

#include "couplet/tensor/sparse.hpp"
#include "couplet/tt/source.hpp"

namespace couplet {

/// A sparse tensor as TT-SVD reads it. Its right end is peeled first: what is left then has as many blocks as there are
/// distinct leading indices, and becomes dense when a quarter of them is there. The left end is offered for the last
/// bond, where whichever side is shorter is cut. Memory: 16 bytes an entry and 8 r for each distinct leading index;
/// nothing of the dense size.
std::unique_ptr<TensorSource<double>> sparse_source(const SparseTensor& tensor);

}  // namespace couplet
