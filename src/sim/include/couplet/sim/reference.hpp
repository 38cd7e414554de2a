#pragma once

#include "couplet/sim/simulate.hpp"

namespace couplet {

/// What a federation is measured against. Both take rank, eps and eps2 of the job (network and aggregate mean nothing
/// here): the bond to the personal mode is cut at the rank, and at eps when one is given; the feature bonds at eps, or
/// at eps2 together. Held-out patients, scaling and on_personal work as in simulate(); a dry run, a state to save or
/// to resume throw InputError.

/// All rows on one pile: TT-SVD of the stacked tensor, every client then projected on its features. Costs the memory
/// of all clients at once. What travels is counted: the data up, the features down.
SimulationResult reference_centralized(const ClientSource& source, SimulationOptions options);

/// Every client alone: TT-SVD of its own tensor, its own features, nothing travels. `ranks` are the largest over the
/// clients, `features` is empty.
SimulationResult reference_local(const ClientSource& source, SimulationOptions options);

}  // namespace couplet
