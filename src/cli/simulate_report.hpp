#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "couplet/baselines/run_method.hpp"
#include "couplet/ctt/centring.hpp"
#include "couplet/sim/complete.hpp"
#include "couplet/sim/gain.hpp"
#include "couplet/sim/simulate.hpp"
#include "federation.hpp"
#include "session.hpp"

namespace couplet {
struct BudgetReport;
struct ExpectedError;
struct ShieldReport;
}  // namespace couplet

namespace couplet::cli {

/// One of the ranks that --rank auto tried.
struct RankTrial {
    Index rank = 0;
    double eps2 = 0;
    double rse_heldout = 0;
    double score = 0;  ///< error of an entry that the fit has not seen: the least is taken
};

/// What the masked job would give where a plain one was run.
struct MaskedOutlook {
    double mu = 0;
    double rse = 0;
    double bytes_total = 0;
    Index rounds = 0;
};

/// What a simulation gave, with what the user must know to read it.
struct SimulationReport {
    Federation federation;
    SimulationResult result;
    std::string method;
    bool dry_run = false;
    std::string output;  ///< folder written; empty: none
    std::string state;   ///< file of the merge; empty: none
    std::uint64_t seed = 0;
    Loss loss = Loss::square;
    std::optional<Tuning> tuning = {};  ///< of a CP method, as the four below
    bool tuned = false;                 ///< taken from the cache
    std::string stopped = {};
    std::vector<TracePoint> trace = {};
    std::optional<DpStatement> privacy = {};
    std::shared_ptr<const ShieldReport> shield = {};  ///< of ctt with --secure --policy off, or --clip
    std::shared_ptr<const BudgetReport> budget = {};  ///< of ctt with --secure, --mu or --dp-epsilon
    std::optional<MaskedOutlook> masked = {};         ///< of a plain job: what the masked one would give
    std::shared_ptr<const std::vector<ExpectedError>> expected = {};  ///< of a dry run with a budget
    Centring centring = {};                                           ///< of --centre, --scale and --weight
    std::optional<double> rse_original = {};                          ///< of centred data, in the units that it came in
    /// One per client, nothing for one without held-out patients; empty: not measured.
    std::vector<std::optional<ClientGain>> gains = {};
    std::vector<RankTrial> trials = {};  ///< of --rank auto
    bool scale_clients = false;
    UnknownParts unknown = {};                ///< of --missing impute
    std::vector<double> personal_norm2 = {};  ///< sums of squares of the personal cores that were kept
};

/// A point an object: round, rse, numbers, bytes, seconds.
Json trace_json(const std::vector<TracePoint>& trace);

/// What was seen of a job and by whom: the object `privacy` of --json, and lines for people.
Json shield_json(const ShieldReport& shield);
void add_shield_rows(const ShieldReport& shield, std::vector<std::pair<std::string, std::string>>& rows);

/// The fields of `simulate --json`.
Json simulation_json(const SimulationReport& report);

/// For people: a line per client up to a dozen, then the totals.
std::string simulation_text(const SimulationReport& report);

}  // namespace couplet::cli
