#pragma once

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "couplet/wire/message.hpp"

namespace couplet::net {

/// How far a job is. A restart continues in the phase that was last written.
enum class Phase {
    joining,     ///< clients come
    running,     ///< members are fixed; their answers are spooled
    delivering,  ///< the features exist
    closed,      ///< everybody who was there has them
};
std::string_view to_string(Phase phase) noexcept;

/// What went over the network, as simulate counts it.
struct Traffic {
    double numbers_up = 0;
    double numbers_down = 0;  ///< of all clients
    double bytes_up = 0;
    double bytes_down = 0;

    Traffic& operator+=(const Traffic& more) noexcept;
};

/// A job with missing entries: what its later attempts stand on, each of which is one more iteration.
struct Completing {
    std::uint32_t base = 0;         ///< the attempt whose features told how to fill; 0: the first fill
    std::vector<double> norm2;      ///< of the members' tensors as they are filled now
    std::vector<FillSums> history;  ///< of all members together, by iteration
};

/// A job that centres: what its later attempts stand on.
struct Centred {
    std::uint32_t attempt = 0;       ///< in which the members told their sums; 0: they have not yet
    std::vector<double> norm2 = {};  ///< of the members' tensors as they are centred
};

/// Everything of a job that must survive a crash and cannot be computed again from the spool.
struct JobFile {
    wire::JobId id = {};
    std::string version;  ///< of the software that began it
    wire::JobSpec spec;
    std::vector<std::string> roster;
    Phase phase = Phase::joining;
    std::uint32_t attempt = 0;
    std::vector<Index> members;               ///< places on the roster: of this attempt, or those in the result
    std::vector<Index> late;                  ///< merged into the result afterwards, in that order
    std::vector<std::uint32_t> late_results;  ///< the attempts whose features are theirs
    std::uint32_t result = 0;                 ///< the attempt whose features are the members'
    std::vector<Index> personal_ranks;        ///< of the uploads, of members and then of those merged late
    std::map<Index, wire::Report> reports;
    Index rounds = 0;
    std::optional<Schema> schema;      ///< of the job where it was given; nothing: the members agree on one
    std::vector<std::string> resumed;  ///< who was merged before this job, in that order
    Traffic traffic;
    Completing completing;
    /// Of a job of secure sums: who had answered when a step was closed, by step. With the spooled answers it puts a
    /// coordinator back where it was.
    std::vector<std::vector<Index>> closed;
    std::optional<ShieldReport> shield;  ///< of the result of such a job
    Centred centred;

    /// The attempt whose features have everybody in them.
    std::uint32_t newest() const noexcept { return late.empty() ? result : late_results.back(); }
    /// Those in the result who have not said that they have it.
    std::vector<Index> unreported() const;
    /// Those on the roster who are not in the result.
    std::vector<Index> absent() const;
    /// Those merged before this job who did not come again in it, as places in `resumed`.
    std::vector<std::size_t> still_resumed() const;
};

/// Throws InputError, naming `where`, for text that is no such file.
JobFile parse_job_file(const std::string& text, const std::string& where);
std::string job_file_text(const JobFile& job);

/// Everything that a job computes with, by the names of the flags.
nlohmann::ordered_json spec_json(const wire::JobSpec& spec);

/// A few words that tell two jobs' flags apart; empty when they are the same.
std::string difference(const wire::JobSpec& a, const wire::JobSpec& b);

}  // namespace couplet::net
