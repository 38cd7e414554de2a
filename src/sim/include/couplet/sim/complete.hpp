#pragma once

#include <functional>

#include "couplet/sim/simulate.hpp"

namespace couplet {

struct CompletionOptions {
    SimulationOptions simulation = {};
    Index max_iterations = 200;
    double tolerance = 1e-5;
    /// Receives each client's model G_1 W, of the shape of its tensor, in the order of the clients, at the end.
    std::function<void(Index client, const Tensor<double>& model)> on_model = {};
};

/// A federation over tensors with missing entries (NaN), by expectation and maximisation. Every client fills its
/// missing entries, all run the federation of simulate() on the filled tensors, every client fills them again with its
/// own model G_1 W, and so on. Nothing but the messages of simulate() travels: a mask stays with its client.
///
/// Start: the mean of what this client knows of the same feature. Where nobody at the client knows anything, that is in
/// a feature without a single entry or a patient without one, the start is 0 and stays near it: such a patient or
/// client has no say in the features.
///
/// Stop: when the filled values move by at most `tolerance`, as the norm of their change over the norm of the filled
/// tensors, or after max_iterations. With a refit and a fixed rank the error on what is known never grows from one
/// iteration to the next, up to what eps1 and eps2 cut.
///
/// rse and rse_per_client count the known entries only; rounds, numbers, bytes and seconds are those of all iterations
/// together; there is no certified bound. Throws InputError as simulate() does, without a rank (an error would be that
/// of invented values), for held-out patients, a dry run or a saved merge, and for the printed method among peers,
/// whose features differ from node to node. Holds all clients in memory twice.
SimulationResult simulate_missing(const ClientSource& source, CompletionOptions options);

}  // namespace couplet
