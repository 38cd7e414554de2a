#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "couplet/tensor/tensor.hpp"

namespace couplet {

/// Made-up records as hospitals have them: each patient has some of 60 groups of labels, each label of a group with its
/// own odds, and some of the common labels by chance; a record is the product of the presences of every mode. Labels,
/// groups and odds are those of one made-up population, patients follow from the seed. bench/budget.py has the same
/// rule.
Tensor<double> typical_records(Index patients, const Shape& features, std::uint64_t seed);

struct ExpectedError {
    std::optional<double> mu;  ///< nothing: without noise, all data in one place
    double rse = 0;            ///< on new patients
};

/// What errors a job of this rank may expect under several budgets (1, 2, 4, 8, and none) with so many patients at so
/// many sites, from public numbers alone: measured on typical_records(). Real records may be easier or harder; how the
/// error falls with mu is much the same. At most 2^22 entries are made: of more patients a part stands for all, with a
/// budget that is larger by as much.
std::vector<ExpectedError> expected_errors(Index patients, const Shape& features, Index rank, Index sites,
                                           Index noisy_sites);

}  // namespace couplet
