#pragma once

#include <string>

#include "couplet/experiments/data_library.hpp"
#include "couplet/experiments/result.hpp"

namespace couplet {

/// Beyond this part of the paper's number a difference is explained.
inline constexpr double explained_difference = 0.1;

/// Whether the row has a number of the paper and is further from it than that.
bool differs_from_paper(const Row& row) noexcept;

/// Why this row of a data set differs from the paper's number, one sentence: what the paper leaves open, and what is
/// known of how it measured. Figures are named by their metric ("rse", "numbers", "seconds", "rounds"), or by
/// metric_something.
std::string reason(DataId data, const Row& row);

/// Gives every row that differs from the paper its sentence.
void explain_differences(ExperimentResult& result, DataId data);

}  // namespace couplet
