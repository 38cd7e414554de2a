#pragma once

#include <string>
#include <vector>

#include "couplet/secure/shield_plan.hpp"
#include "job_options.hpp"
#include "privacy_options.hpp"

namespace couplet::cli {

/// What else a job of the star is to do.
struct StarExtras {
    bool late = false;     ///< merge clients that come late
    bool missing = false;  ///< fill in missing entries
};

/// The job that the flags of a star's coordinator ask for. Throws InputError for flags that do not go together.
Job star_job(const Command& app, const JobFlags& flags, StarExtras extras);

/// How the sums of the job shall be seen, which is then one of sums; nothing without --secure. Throws InputError for
/// flags that do not go together.
std::optional<ShieldTerms> star_shield(const Command& app, JobOptions& job, const PrivacyFlags& privacy);

/// A job for whoever carries the messages itself.
struct CarriedJob {
    Job job;
    Preparation preparation;
    bool missing = false;
    std::optional<Schema> schema = {};  ///< that --schema names
    std::optional<ShieldTerms> shield = {};
};

/// From arguments as written after `couplet coordinator`: what is computed (--rank, --aggregate, ...), --scale-clients,
/// --heldout, --missing, --secure with what belongs to it, --schema, --unnamed and --seed. Throws InputError for
/// others, in the command line's words.
CarriedJob parse_carried_job(const std::vector<std::string>& arguments);

}  // namespace couplet::cli
