#pragma once

#include <vector>

#include "couplet/audit/released_sums.hpp"

namespace couplet {

struct RareRowsOptions {
    /// L1 weights, of the one that leaves nothing. Exact sums take the weakest; noise takes stronger ones.
    std::vector<double> strengths = {0.02, 0.1, 0.3};
    int iterations = 100;  ///< of each fit
    double work = 3e9;     ///< multiplications at most, about: so many rows are tried, the shortest ones
};

/// Guesses at records, rows of length P. Row i of A = sum over records of s x x^T is the sum of those records that have
/// feature i: of a feature that one record alone has it is that record, and sparse. Row i of the sums is d linear
/// measurements of it, so that a non-negative LASSO finds it (FISTA, Beck and Teboulle 2009), whatever its values are.
/// Rows that add up few records are the short ones. Every fit is a guess, and so are its cells above a third of its
/// largest.
Matrix<double> rare_rows(const ReleasedSums& released, const RareRowsOptions& options = {});

}  // namespace couplet
