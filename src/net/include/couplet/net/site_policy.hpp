#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "couplet/ctt/job.hpp"

namespace couplet::net {

/// What a site answers, whatever the coordinator asks: policy.toml in its kit. The defaults refuse what gives a patient
/// away for certain: a handful of patients, a rank close to their number, and jobs that show the same together or by
/// their difference.
struct SitePolicy {
    Index min_patients = 6;  ///< who take part, held-out ones not counted
    /// Directions that a job sees, in patients: the rank that is sent, columns of all sums, features of a Gram matrix.
    double max_rank_share = 0.5;
    double max_directions_share = 0.5;  ///< the same of all jobs on the same patients together, where sums are open
    bool any_cohort = false;            ///< jobs on nearly the patients of another one, whose difference is a few
    std::vector<Aggregate> aggregates = {Aggregate::stack, Aggregate::average, Aggregate::subspace};
    double max_heldout = 0.5;
    Index max_sums = 8;                  ///< of one job
    Index max_sum_width = 1000;          ///< columns of one sum
    Index min_others = 0;                ///< parties besides this one; they hide nothing unless sums are masked
    bool missing = false;                ///< jobs that fill missing entries: what they ask for can be one patient's
    bool secure_only = false;            ///< jobs whose sums are not masked are refused
    Index min_cohort = 3;                ///< clients whose numbers are in a masked sum
    Index colluders = 1;                 ///< of them, who may tell the coordinator what they know
    double patients_per_direction = 10;  ///< honest ones, for each direction that masked sums of all jobs show; 0: any
    double mu = 4;                       ///< that all jobs of masked sums with noise on one patient may spend together
    double dp_epsilon = 0;               ///< that all jobs on one data set may spend together; 0: no budget
    double dp_delta = 1e-5;
    /// Verdict of couplet audit on this client's own message; a worse one is warned of at the start of a job.
    std::string worst_verdict = "membership";
    Index patience = 0;  ///< seconds to wait for what brings a job forward; 0: as the command line says
    friend bool operator==(const SitePolicy&, const SitePolicy&) = default;
};

/// Reads policy.toml. Keys that are not there keep their defaults; throws InputError, naming file and key, for a key
/// that is not known or a value out of range.
SitePolicy parse_policy(const std::string& text, const std::string& where);
/// Refuses a file that others than its owner may write, too.
SitePolicy load_policy(const std::filesystem::path& file);
/// As a file that says what each key means.
std::string policy_text(const SitePolicy& policy);
/// Refuses whatever one of both refuses.
SitePolicy stricter(const SitePolicy& a, const SitePolicy& b);
/// Keys by which it allows what the defaults refuse.
std::vector<std::string> relaxed_keys(const SitePolicy& policy);
/// Allows everything: a job is then held against its own promises alone.
SitePolicy no_policy();

}  // namespace couplet::net
