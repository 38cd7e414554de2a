#pragma once

#include <cstdint>

#include "couplet/audit/released_sums.hpp"
#include "couplet/tensor/matrix.hpp"
#include "couplet/tensor/shape.hpp"

namespace couplet {

struct PeelOptions {
    std::int64_t work = std::int64_t{3} << 33;  ///< additions at most, about; an eighth without a find
    Index largest_lattice = 80;                 ///< unknowns of one lattice; more are not solved in reasonable time
};

/// Records of 0 and 1 that the sums are made of, rows of length P. Row i of Y is the sum, over the records that have
/// feature i, of one vector each, s Q^T x. At enough precision these vectors behave as if independent: equal rows
/// belong to the same records, y_a + y_b = y_c + y_d holds for every record's entries as well, and a row of a single
/// record, or a difference that rows repeat, is a vector b for which a lattice solves Q^T x = b. What is found is
/// taken off the sums, and the rest is looked at again. `features`: records are tried as outer products of its modes
/// first, where it has several. The same for the same numbers. Cost: bounded by the options; seconds for a few hundred
/// records of some ten entries.
Matrix<double> peel_records(const ReleasedSums& released, const Shape& features, const PeelOptions& options = {});

}  // namespace couplet
