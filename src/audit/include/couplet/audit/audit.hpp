#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "couplet/audit/membership.hpp"
#include "couplet/audit/recovery.hpp"
#include "couplet/audit/second_moment.hpp"
#include "couplet/audit/views.hpp"
#include "couplet/core/progress.hpp"
#include "couplet/privacy/gaussian.hpp"

namespace couplet {

/// What a view reveals, worst first.
enum class Verdict { patients, membership, second_moments, features_only, differentially_private };

/// "patients", "membership", "second-moments", "features-only", "differentially-private".
std::string_view to_string(Verdict verdict) noexcept;

struct Finding {
    std::string mode = {};
    std::string seen_by = {};
    std::string what = {};
    Index directions = 0;  ///< of the row space that is seen
    Recovery ica = {};
    Recovery rank_one = {};  ///< no patients where features have a single mode: the attack means nothing there
    Auc membership = {};
    SecondMoment moment = {};
    Verdict verdict = Verdict::features_only;
    std::optional<PrivacyGuarantee> guarantee = {};
    std::vector<std::string> policy = {};  ///< what the leakage policy changed in the job, in words

    /// Patients that the better of both attacks finds.
    Index recovered() const noexcept { return std::max(ica.recovered, rank_one.recovered); }
};

/// The verdict as a sentence for a data-protection officer.
std::string verdict_sentence(const Finding& finding);

struct AuditOptions {
    Job job;                                         ///< rank, errors, passes, sketch and seed; every mode is tried
    Index client = 0;                                ///< whose message is looked at
    std::optional<PrivacyGuarantee> guarantee = {};  ///< tries differential privacy as well
    std::optional<double> clip = {};                 ///< of row norms; nothing: the median, which private sums need
    LeakageLimits limits = {};
    std::string only = {};  ///< one mode; "": all
    ProgressSink progress = {};
};

struct AuditReport {
    std::vector<Finding> findings;     ///< in the order plain, published, summed, private
    std::vector<std::string> skipped;  ///< modes that could not be tried, and why
    Index clients = 0;
    Index patients = 0;  ///< of this client
    Index patients_total = 0;
    Index controls = 0;
    double leverage = 0;  ///< the largest of a patient of this client at the job's rank

    /// The worst of all findings, or of one mode's ("" for all).
    Verdict worst(std::string_view mode = "") const;
};

/// Attacks what a client would send and what a federation of these clients publishes, in every mode. `controls` are
/// patients who take part nowhere (n x I2 x ... x IN): every attack is tried on them too, so that what chance finds is
/// not blamed on the method. Throws InputError for clients or controls that do not fit together and for a job without a
/// rank. Cost: a few runs of the job, and for every view R1 x R1 x P flops a few hundred times.
AuditReport audit(const Clients& clients, const TensorView<const double>& controls, const AuditOptions& options);

/// One view, attacked.
Finding attack(View view, const Clients& clients, const TensorView<const double>& controls, const LeakageLimits& limits,
               std::uint64_t seed);

}  // namespace couplet
