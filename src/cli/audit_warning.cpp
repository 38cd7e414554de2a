#include "audit_warning.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "couplet/audit/audit.hpp"
#include "couplet/core/error.hpp"
#include "couplet/ctt/prepare.hpp"
#include "couplet/privacy/masking_warning.hpp"
#include "couplet/privacy/records.hpp"

namespace couplet::cli {
namespace {

// Attacks take about 300 R1 x R1 x P operations for each view: a start of a job is to take a few seconds more.
constexpr double most_operations = 2e10;
// Of the attack by a lattice, for the same reason.
constexpr std::int64_t lattice_operations = 4'000'000'000;
// Controls are patients of the same client who are left out of what is attacked.
constexpr double control_share = 0.2;
constexpr Index least_patients = 10;

}  // namespace

std::string audit_warning(const wire::JobSpec& spec, const Tensor<double>& x, const std::string& worst) {
    if (spec.shield && spec.shield->mu) return "";
    if (spec.shield) return worst == to_string(Verdict::patients) ? "" : masking_warning(spec.shield->guarantee);
    if (spec.missing) return "";
    const Index patients = count_patients(x.view());
    const auto features = static_cast<double>(x.size() / std::max<Index>(1, x.shape()[0]));
    const auto rank = static_cast<double>(std::min(patients, spec.job.rank.value_or(patients)));
    const std::string advice = "couplet audit tries it on the data of all sites";
    if (patients < least_patients) {
        return fmt::format("{} patients are too few to try what this job reveals of them; {}", patients, advice);
    }
    if (300 * rank * rank * features > most_operations) {
        return fmt::format("the data is too large to try at the start what this job reveals of it; {}", advice);
    }
    const HeldOut parts = hold_out(x.view(), control_share, spec.job.seed, 0);
    const std::string mode(to_string(spec.job.aggregate));
    Job job = spec.job;
    if (!job.rank) job.rank = parts.training.shape()[0];  // at most
    const AuditReport report = audit({parts.training.view()}, parts.heldout.view(),
                                     {.job = job, .client = 0, .lattice = {.work = lattice_operations}, .only = mode});
    const auto found = std::min_element(report.findings.begin(), report.findings.end(),
                                        [](const Finding& a, const Finding& b) { return a.verdict < b.verdict; });
    if (found == report.findings.end()) return "";
    for (const Verdict verdict : {Verdict::patients, Verdict::membership, Verdict::second_moments}) {
        if (to_string(verdict) == worst) return "";  // as bad as that is agreed to
        if (found->verdict == verdict) {
            return fmt::format("what this job asks for, tried on this data: {} ({}: {})", verdict_sentence(*found),
                               found->seen_by, found->what);
        }
    }
    return "";
}

}  // namespace couplet::cli
