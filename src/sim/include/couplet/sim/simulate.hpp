#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "couplet/core/progress.hpp"
#include "couplet/ctt/completion.hpp"
#include "couplet/ctt/job.hpp"
#include "couplet/ctt/merger.hpp"
#include "couplet/ctt/refit.hpp"
#include "couplet/ctt/saved_merge.hpp"
#include "couplet/sim/source.hpp"
#include "couplet/sim/traffic.hpp"

namespace couplet {

struct SimulationOptions {
    JobOptions job = {};
    /// Every client's tensor to norm 1 for the job; personal cores are scaled back, errors are those of the job.
    bool scale_clients = false;
    double heldout = 0;                   ///< part of each client's patients kept out of the job, 0 <= heldout < 1
    std::optional<Schema> schema = {};    ///< of the job; nothing: the one that most clients have
    std::vector<std::string> names = {};  ///< of the clients, for a saved merge; empty: "client 1", ...
    bool save_state = false;              ///< return the uploads, for more clients to join later (stack in a star)
    std::optional<SavedMerge> resume = {};
    bool dry_run = false;  ///< stop when it is known what would be sent
    /// Receives each client's personal core (I1 x R1) as it is fitted, in the order of the clients.
    std::function<void(Index client, const Matrix<double>& personal)> on_personal = {};
    ProgressSink progress = {};
};

struct ConsensusReport {
    double lambda2 = 0;
    Index iterations = 0;
    double error = 0;
};

struct PhaseSeconds {
    double clients_max = 0;
    double clients_sum = 0;
    double server = 0;
    double total = 0;
};

/// The fields of `simulate --json`.
struct SimulationResult {
    double rse = 0;
    std::optional<double> rse_heldout;
    std::vector<double> rse_per_client;
    std::optional<double> rel_error_bound;  ///< of sqrt(rse) over everybody merged, those of a resumed state included
    std::vector<Index> ranks;               ///< R_1 ... R_N of the feature train
    std::vector<Index> personal_ranks;
    Index rounds = 0;
    double numbers_up_per_client = 0;
    double numbers_down_per_client = 0;
    double numbers_total = 0;
    double bytes_up = 0;  ///< of all messages to the coordinator, or between peers
    double bytes_down = 0;
    PhaseSeconds seconds;
    std::optional<ConsensusReport> consensus;
    std::optional<MissingReport> missing;  ///< of simulate_missing()
    std::optional<Features> features;      ///< shared; the first node's where nodes have features of their own
    std::vector<Features> own_features;    ///< by node, where they did not come to agree; its personal core is of these
    std::optional<SavedMerge> state;
    Schema schema;                       ///< of the features
    std::vector<std::string> reordered;  ///< by client, in words: what was put in the job's order; empty: nothing
    std::vector<std::string> replaced;   ///< clients of the resumed merge that came again
    Index resumed_clients = 0;           ///< merged before, without those
    Job job;
};

/// The whole federation in one process, on the state machines that the network runs. Clients work in parallel on the
/// machine's cores; results do not depend on their number. Throws InputError for clients that do not fit together and
/// for NaN or infinity (naming client and index).
SimulationResult simulate(const ClientSource& source, SimulationOptions options);

}  // namespace couplet
