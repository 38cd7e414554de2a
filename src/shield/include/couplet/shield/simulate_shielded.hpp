#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "couplet/secure/shield_plan.hpp"
#include "couplet/sim/simulate.hpp"

namespace couplet {

/// What shall not be seen, and by whom.
struct ShieldOptions {
    bool secure = false;  ///< secure aggregation: only sums over all clients are seen
    bool policy = false;  ///< section 5's leakage policy: how much masked sums may show; not under a guarantee
    std::optional<PrivacyGuarantee> guarantee = {};
    std::optional<double> clip = {};       ///< of record norms; needed for a guarantee: it must not depend on the data
    std::optional<NoisePlace> noise = {};  ///< nothing: distributed when secure, otherwise local
    int colluders = 1;                     ///< clients that may tell the coordinator what they know
    int min_cohort = 3;
    LeakageLimits limits = {};
    Index sums_before = 0;  ///< that were added up before these, for means; limits.shown_before: what they showed
    std::optional<Index> public_patients = {};  ///< under a guarantee: how many there are, as everybody may know
    /// For tests that compare bits: noise that follows from this seed. Nothing is guaranteed then, and the report says
    /// so.
    std::optional<std::uint64_t> repeatable_noise = {};
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
