#pragma once

#include <optional>
#include <string>
#include <vector>

#include "couplet/audit/attack.hpp"
#include "couplet/audit/finding.hpp"
#include "couplet/audit/views.hpp"
#include "couplet/core/progress.hpp"
#include "couplet/privacy/gaussian.hpp"

namespace couplet {

struct AuditOptions {
    Job job;                                         ///< rank, errors, passes, sketch and seed; every mode is tried
    Index client = 0;                                ///< whose message is looked at
    std::optional<PrivacyGuarantee> guarantee = {};  ///< tries differential privacy as well
    std::optional<double> clip = {};                 ///< of row norms; private sums need one
    LeakageLimits limits = {};
    PeelOptions lattice = {};
    std::string only = {};  ///< one mode; "": all
    ProgressSink progress = {};
};

struct AuditReport {
    std::vector<Finding> findings;     ///< in the order plain, published, summed, private
    std::vector<std::string> skipped;  ///< modes that could not be tried, and why
    Index clients = 0;
    Index patients = 0;  ///< of this client, as count_patients() counts them
    Index patients_total = 0;
    Index left_out = 0;  ///< records of all clients that are empty or copies
    Index controls = 0;
    Index controls_left_out = 0;  ///< that are empty, copies, or records of patients who took part
    double leverage = 0;          ///< the largest of a patient of this client at the job's rank

    /// The worst of all findings, or of one mode's ("" for all).
    Verdict worst(std::string_view mode = "") const;
};

/// Attacks what a client would send and what a federation of these clients publishes, in every mode. `controls` are
/// patients who take part nowhere (n x I2 x ... x IN): every attack is tried on them too, so that what chance finds is
/// not blamed on the method; those that are none (usable_controls()) are left out. Sums are those of the plan that the
/// parties of a secure job would make. Throws InputError for clients or controls that do not fit together, a client
/// without records, norms that no job takes, a job without a rank, and a guarantee without a clip. Cost: a few runs of
/// the job, and for every view R1 x R1 x P flops a few hundred times.
AuditReport audit(const Clients& clients, const TensorView<const double>& controls, const AuditOptions& options);

/// The controls that are any: not empty, each once, and no record of a patient who took part, who cannot be told apart
/// from one.
Tensor<double> usable_controls(const Clients& clients, const TensorView<const double>& controls);

}  // namespace couplet
