#pragma once

#include "couplet/tensor/tensor.hpp"

namespace couplet::cli {

/// What the elements of a tensor look like. NaN and infinity are counted, everything else is of the finite ones.
struct Statistics {
    Index finite = 0;
    Index nan = 0;
    Index inf = 0;
    Index nonzeros = 0;
    double min = 0;  ///< these four are 0 without a finite element
    double max = 0;
    double mean = 0;
    double norm = 0;
};

/// Reads the data once, on all threads; the result does not depend on their number. Magnitudes whose squares
/// overflow or vanish cost a second reading.
template <Real T>
Statistics statistics(TensorView<const T> x);

}  // namespace couplet::cli
