#pragma once

#include <cstdint>

#include "couplet/tensor/matrix.hpp"

namespace couplet {

struct IcaOptions {
    int iterations = 200;     ///< at most, of the fixed point
    double tolerance = 1e-5;  ///< a turn of every direction below this ends it
    std::uint64_t seed = 0;
};

/// Independent component analysis (FastICA, Hyvarinen 1999: symmetric, tanh) of mixtures in the rows of `mixtures`
/// (R x P), whose columns are taken as P samples. What a client sends is an orthogonal mixture of its patients; where
/// records are sparse the patients themselves are the components. Returns at most R rows of length P, centred and of
/// variance 1; fewer where the mixtures depend on one another, none where all are constant.
/// Cost: 4 R^2 P flops an iteration.
Matrix<double> independent_components(MatrixView<const double> mixtures, const IcaOptions& options = {});

}  // namespace couplet
