#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "couplet/privacy/leakage.hpp"
#include "couplet/privacy/noise.hpp"
#include "couplet/sim/simulate.hpp"

namespace couplet {

/// What shall not be seen, and by whom.
struct ShieldOptions {
    bool secure = false;  ///< secure aggregation: only sums over all clients are seen
    bool policy = false;  ///< section 5's leakage policy: how much the sums may show
    std::optional<PrivacyGuarantee> guarantee = {};
    std::optional<double> clip = {};       ///< of record norms; needed for a guarantee: it must not depend on the data
    std::optional<NoisePlace> noise = {};  ///< nothing: distributed when secure, otherwise local
    int colluders = 1;                     ///< clients that may tell the coordinator what they know
    int min_cohort = 3;
    LeakageLimits limits = {};
};

/// The `privacy` object of `simulate --json`.
struct ShieldReport {
    bool secure = false;
    bool policy = false;
    int threshold = 0;  ///< clients that must stay to the end of a sum; 0: all
    int ring_bits = 0;
    Index sums = 0;  ///< that were asked for
    Index directions = 0;
    std::optional<double> clip = {};
    Index clipped = 0;                      ///< records that were longer
    std::vector<std::string> changes = {};  ///< that the policy made to the job
    std::vector<std::string> warnings = {};
    std::optional<NoisePlan> noise = {};
    std::optional<double> expected_loss = {};  ///< of RSE, at most, from public quantities
};

struct ShieldedResult {
    SimulationResult simulation;
    ShieldReport privacy;
};

/// A federation of which only sums are seen (aggregate subspace), within the leakage policy, under secure aggregation,
/// with noise, or any of these together; through the state machines of the protocol. Without noise the result equals
/// that of simulate() to the fixed point's precision, where the policy changes nothing. Throws InputError for a job
/// with another aggregate, for what the policy refuses, for fewer clients than the smallest cohort, for a saved merge,
/// and for a guarantee without a clip. `announce` hears the report before anything is computed from the data's sums.
ShieldedResult simulate_shielded(const ClientSource& source, SimulationOptions options, const ShieldOptions& shield,
                                 const std::function<void(const ShieldReport&)>& announce = {});

}  // namespace couplet
