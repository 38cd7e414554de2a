#pragma once

#include "couplet/sim/run.hpp"
#include "couplet/sim/simulate.hpp"
#include "couplet/tt/tt_svd.hpp"

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

/// Their parts, for methods that are built alike.

/// Checks what these methods cannot do and fills in the defaults of a rank or an error, which are the stack's.
Job reference_job(const ClientSource& source, const SimulationOptions& options);
/// Limits of the N - 1 bonds of a tensor of this order.
TtSvdOptions reference_bonds(const Job& job, Index order);
/// Cores 2..N of the TT-SVD of x, orthonormal and ordered by importance.
Features features_of(TensorView<const double> x, const TtSvdOptions& how);
/// Prepares all clients and checks that they fit together.
std::vector<PreparedClient> gather_clients(SimulationRun& run);

}  // namespace couplet
