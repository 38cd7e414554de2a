#pragma once

#include <functional>

#include "couplet/ctt/completion.hpp"
#include "couplet/sim/simulate.hpp"

namespace couplet {

struct CompletionOptions {
    SimulationOptions simulation = {};
    CompletionLimits limits = {};
    /// Receives each client's model G_1 W, of the shape of its tensor, in the order of the clients, at the end.
    std::function<void(Index client, const Tensor<double>& model)> on_model = {};
};

/// A federation over tensors with missing entries (NaN): the state machines of couplet/ctt/completion.hpp, with the
/// federation of simulate() between their steps.
///
/// Start: the mean of what this client knows of the same feature. Where nobody at the client knows anything of a
/// patient, the start is 0 and stays so: such a patient or client has no say in the features.
///
/// Stop: when the filled values move by at most limits.tolerance, as the norm of their change over the norm of the
/// filled tensors, or after limits.max_iterations; `missing.settled` says which.
///
/// rse and rse_per_client count the known entries only, those kept for validation included; rounds, numbers, bytes and
/// seconds are those of all iterations together, and of telling the final features; the sums that lead the completion
/// are not counted, as greetings are not. There is no certified bound. The printed method refits here: a personal core
/// from before the exchange knows the entries that were invented. Throws InputError as simulate() does, without a rank
/// (an error would be that of invented values), where not one entry is known, for held-out patients, a dry run or a
/// saved merge, without a refit, and for the printed method among peers, whose features differ from node to node. Holds
/// all clients in memory about four times.
SimulationResult simulate_missing(const ClientSource& source, CompletionOptions options);

/// What nothing but zeros can be filled in for. Only who sees all clients can say it.
struct UnknownParts {
    Index features = 0;               ///< entries of a patient that no client knows of anybody
    std::vector<Index> clients = {};  ///< from 0: those that know not one entry
};
/// Reads all clients, with their features in the order of simulate_missing().
UnknownParts find_unknown(const ClientSource& source, Unnamed unnamed, const std::optional<Schema>& given);

}  // namespace couplet
