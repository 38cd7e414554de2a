#pragma once

#include <vector>

#include "couplet/experiments/experiment.hpp"

namespace couplet {

/// The sweep over R1 that the paper has for three data sets.
struct R1Sweep {
    const char* name = "";
    DataId data = DataId::synthetic3;
    Index clients = 4;
    std::vector<Index> ranks = {};
};

/// Figures rse (as printed), rse_table (evaluated as in the paper's tables), numbers (per link, one way) and seconds,
/// over R1: the printed method in a star and among peers with L = 1 ... 4, ours, and centralized.
ExperimentResult run_r1_sweep(const R1Sweep& sweep, Lab& lab);

}  // namespace couplet
