#pragma once

#include <optional>
#include <string>
#include <vector>

#include "couplet/baselines/tuning.hpp"
#include "couplet/sim/simulate.hpp"

namespace couplet {

/// What only the CP methods need; ignored by the others.
struct BaselineOptions {
    Loss loss = Loss::square;  ///< logistic: fedgtf-ef, fedgtf-ef-pc and cidertf
    /// Exchanges at most. A method stops before when over `patience` evaluations in a row the objective did not fall
    /// by more than `tolerance` of its value; 0 never stops early.
    Index rounds = 200;
    double tolerance = 1e-3;
    Index patience = 10;
    Index evaluate_every = 5;  ///< rounds between two evaluations, which are points of the trace
    /// fedgtf-ef, fedgtf-ef-pc, cidertf: send signs; false sends full precision, to see what compression costs.
    bool compress = true;
    Tuning tuning = {};
};

/// The objective and what it took to get there. Evaluations of a star send one number up and one down per client, those
/// of peers one number up and down a tree: counted.
struct TracePoint {
    Index round = 0;
    double rse = 0;  ///< of the factors as trained so far, without the final refit
    double numbers = 0;
    double bytes = 0;    ///< all links, both directions
    double seconds = 0;  ///< since the start
};

/// What dpfact's noise would promise if the clip were public and the noise secret; no guarantee (docs/baselines.md).
struct DpStatement {
    double epsilon = 0;
    double delta = 0;
    Index releases = 0;  ///< noisy gradients of one client
};

struct MethodResult {
    SimulationResult simulation;
    std::vector<TracePoint> trace;       ///< CP methods; the first point is the start
    std::optional<Tuning> tuning;        ///< CP methods: what ran, nothing left open
    std::string stopped;                 ///< CP methods: "converged" or "rounds"
    std::optional<DpStatement> privacy;  ///< dpfact with noise
};

/// Runs a method on the clients of `source` and counts what it sends, with the counters of simulate().
///
/// Of `options` the CP methods take job.rank (the CP rank, required), job.seed, job.graph and job.weights
/// (decentralized; paper where none is named), job.refit, heldout, scale_clients, on_personal and progress. The model
/// is X_k ~ [[A_1^k, A_2, ..., A_N]], A_1^k stays with its client. All start from the same A_2 ... A_N, drawn by the
/// seed, and from A_1^k of least squares on them. With refit (the default) every client finally solves for A_1^k by
/// least squares, as in simulate(), and `features` is an orthonormal train of the same space; without, A_1^k stays as
/// trained and the train has the factors themselves in diagonal cores. Peers that still differ after the last round
/// take the mean of their factors along a tree (counted); consensus.error is what it was before. fedsvd takes job.rank,
/// job.eps and job.eps2 as reference_centralized() does.
///
/// Clients work in parallel; results do not depend on the number of threads. All clients are held in memory.
/// Throws InputError for a missing rank, a parameter the method does not have, dpfact on another order than 3, the
/// logistic loss on anything but 0 and 1 or with a method that lacks it, a decentralized method with one client, and as
/// simulate() does; RunError when a method diverges.
MethodResult run_method(Method method, const ClientSource& source, SimulationOptions options,
                        const BaselineOptions& baseline = {});

}  // namespace couplet
