#pragma once

#include "couplet/consensus/plan.hpp"

namespace couplet {

struct ConsensusRun {
    Index iterations = 0;
    double error = 0;  ///< consensus_error() of the final states
};

/// Runs a whole consensus in one process: row k of `states` (K x n) is the initial state of node k and
/// becomes its result, bit for bit what the machines of node.hpp compute. Parallel over columns; a few
/// hundred KiB a thread besides the states, which are read and written once however many iterations there
/// are. Flops: 3 x 2 links x n x iterations. Throws InputError, with the states untouched, when there are not
/// K rows or a number is not finite.
ConsensusRun run_consensus(const ConsensusPlan& plan, MatrixView<double> states);

/// The paper's consensus error: the square root of sum_k ||Z_k - mean||^2 / sum_k ||Z_k[0]||^2 over the rows,
/// where `mean` is that of the initial rows Z_k[0]. In exact arithmetic iterations keep the mean, so this is
/// the paper's mean of the Z_k; this way rounding that moves the mean is seen too. 0 when all initial states
/// are 0.
double consensus_error(MatrixView<const double> initial, MatrixView<const double> states);

}  // namespace couplet
