#pragma once

#include <optional>
#include <string>
#include <vector>

#include "couplet/ctt/job.hpp"
#include "couplet/ctt/prepare.hpp"
#include "couplet/ctt/subspace.hpp"
#include "couplet/privacy/leakage.hpp"
#include "couplet/privacy/noise.hpp"
#include "couplet/privacy/ring.hpp"
#include "couplet/secure/budget.hpp"
#include "couplet/secure/census.hpp"

namespace couplet {

/// What of a job's sums shall be seen; the same at every party.
struct ShieldTerms {
    bool policy = true;  ///< section 5's leakage policy: how much the sums may show
    int colluders = 1;   ///< clients that may tell the coordinator what they know
    std::optional<PrivacyGuarantee> guarantee = {};
    std::optional<double> clip = {};  ///< of record norms; needed for a guarantee
    NoisePlace noise = NoisePlace::distributed;
    /// Budget of a patient in this job: sums of modes with noise (budget.hpp), instead of policy and guarantee.
    std::optional<double> mu = {};
};

/// Throws InputError for a guarantee without a clip, and for a clip whose square could not be counted with.
void require_possible(const ShieldTerms& terms);
/// Throws InputError for what is done to records before they are clipped that lets one of them change the others, so
/// that the clip no longer bounds what one patient changes: scaling a client by its norm, and holding out a share of
/// its patients, which are others when there is one more.
void require_private_preparation(const ShieldTerms& terms, const Preparation& preparation);

/// What the parties agree on before the first sum over the data. Everybody computes it from the same counts, so that
/// nobody has to be believed. Under a guarantee nothing was counted (that would be a release of its own): the guarantee
/// limits what is shown, not the leakage policy.
struct ShieldPlan {
    Job job;  ///< as the policy leaves it
    std::optional<double> clip = {};
    std::optional<NoisePlan> noise = {};
    std::optional<double> mu = {};  ///< of a job under a budget: its noise spends so much of every patient's
    double bound = 0;               ///< that no number of a client exceeds; the ring holds the sum of such numbers
    FixedPoint how;
    Index patients = 0;  ///< 0: not counted
    Index honest = 0;    ///< of these in every sum, at least: clients may be lost, or tell of theirs
    Index sums = 0;      ///< over the data
    Index directions = 0;
    std::vector<std::string> changes = {};  ///< that the policy made to the job
    std::vector<std::string> warnings = {};
};

inline constexpr double acceptable_loss = 0.01;

/// The `privacy` object of `simulate --json`.
struct ShieldReport {
    bool secure = false;
    bool policy = false;
    int threshold = 0;  ///< clients that must stay to the end of a sum; 0: all
    int ring_bits = 0;
    Index sums = 0;  ///< that were asked for
    Index directions = 0;
    std::optional<double> clip = {};
    std::optional<Index> clipped = {};      ///< records that were longer; nothing: nobody counted them
    std::vector<std::string> changes = {};  ///< that the policy made to the job
    std::vector<std::string> warnings = {};
    std::optional<NoisePlan> noise = {};
    std::optional<double> patients_needed =
        {};  ///< as long as the clip, for a loss of RSE of at most acceptable_loss; from public quantities
    /// Of RSE, at most, if all records are as long as the clip; where it is public how many patients there are.
    std::optional<double> expected_loss = {};
    std::optional<double> noise_cost = {};  ///< of RSE, at most, whatever norms records have; once the sums were seen
    std::optional<double> mu = {};
    std::optional<BudgetError> error = {};  ///< under a budget: of the features, as a noised sum tells it
    std::string withdrawn = {};             ///< why the noise guarantees nothing, in words; empty: it does
};

/// `clients` take part, of whom at least `survivors` stay. Throws InputError for what the policy refuses.
ShieldPlan plan_shield(const Job& job, const Shape& features, const ShieldTerms& terms,
                       const std::optional<Census>& census, Index clients, Index survivors,
                       const LeakageLimits& limits = {});

/// A sum of which one client's numbers are a part: over the data, or of the counts before it (sum 0, no plan yet).
struct MaskedSum {
    const ShieldPlan& plan;
    Index sum = 0;  ///< over the data from 1
    SubspaceIteration::Want want = SubspaceIteration::Want::nothing;
    const Matrix<double>& basis;
    std::vector<std::string> members;  ///< names of those whose numbers may be in it; once it is agreed, are
    /// false: this client's numbers are about to leave it. true: it is about to agree that the sum is of these members.
    bool agreed = false;
    std::string order = {};  ///< names the order of the features, where it is not that of the job's start
};

/// What sum number `sum` over the data (from 1) is of.
SubspaceIteration::Want want_of(const ShieldPlan& plan, Index sum);
/// Columns of a block of the plan, and of the last basis at most.
Index block_width(const ShieldPlan& plan, const Shape& features);
Index widest_basis(const ShieldPlan& plan, const Shape& features);

}  // namespace couplet
