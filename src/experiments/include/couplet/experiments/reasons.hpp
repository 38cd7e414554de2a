#pragma once

#include <string>

#include "couplet/experiments/data_library.hpp"
#include "couplet/experiments/result.hpp"

namespace couplet {

/// Beyond this part of the paper's number a difference is explained.
inline constexpr double explained_difference = 0.1;

/// Whether the row has a number of the paper and is further from it than that.
bool differs_from_paper(const Row& row) noexcept;

/// Why numbers of this data set, metric ("rse", "numbers", "seconds", "rounds") and method differ from the paper's, one
/// sentence. From a small table: what the paper leaves open, and what is known of how it measured.
std::string reason(DataId data, const std::string& metric, const std::string& method);

/// Gives every row of these figures that differs from the paper its sentence. Figures are named by their metric, or by
/// metric_something.
void explain_differences(ExperimentResult& result, DataId data);

}  // namespace couplet
