#include "open_job.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "couplet/core/error.hpp"
#include "couplet/net/kit.hpp"
#include "couplet/privacy/shamir.hpp"
#include "couplet/secure/shield_plan.hpp"
#include "job_folder.hpp"
#include "versions.hpp"

namespace couplet::net {
namespace {

namespace fs = std::filesystem;

// A job of the longest roster, with names and reports of everybody.
constexpr std::uintmax_t largest_job_file = 64 << 20;

void require_loopback(const Kit& kit) {
    if (is_loopback(parse_address(kit.listen, "listen").host)) return;
    throw InputError({"`insecure`", "listening on " + kit.listen, "a loopback address",
                      "Without TLS anybody could read and change everything; leave it out."});
}

void check_shield(const CoordinatorOptions& options, Index roster) {
    if (options.insecure) {
        throw InputError({"`insecure`", "given with `secure`", "one or the other",
                          "Keys of secure sums are signed with the certificates of the kits."});
    }
    if (roster < 3 || roster > most_shares) {
        throw InputError({"`secure`", fmt::format("{} clients on the roster", roster),
                          fmt::format("3 to {}", most_shares), "A sum over fewer would show what each has."});
    }
    require_private_preparation(*options.spec.shield, options.spec.preparation);
}

/// Clients may be added to the roster between runs, at its end.
void extend_roster(JobFile& job, const Kit& kit) {
    const bool prefix =
        job.roster.size() <= kit.roster.size() && std::equal(job.roster.begin(), job.roster.end(), kit.roster.begin());
    if (!prefix) {
        throw InputError({kit.file("job").string(), "a job of other clients", "the roster of the kit",
                          "Remove that folder to begin a new job."});
    }
    job.roster = kit.roster;
}

JobFile new_job(const Kit& kit, const CoordinatorOptions& options) {
    JobFile job;
    job.id = wire::parse_job_id(random_hex());
    job.version = version();
    job.spec = options.spec;
    job.roster = kit.roster;
    job.schema = options.schema;
    if (options.resume) {
        job.schema = options.resume->schema;
        for (const Contribution& contribution : options.resume->contributions) {
            job.resumed.push_back(contribution.client);
        }
    }
    return job;
}

std::optional<JobFile> read_job(const Kit& kit) {
    const fs::path file = kit.file("job") / "job.json";
    std::error_code failed;
    if (!fs::exists(file, failed)) {
        if (!failed) return std::nullopt;
        throw InputError({kit.file("job").string(), failed.message(), "the folder of this kit's job",
                          "Check its owner and permissions."});
    }
    return parse_job_file(read_text(file, largest_job_file), file.string());
}

/// The job in the kit, if it is to go on: one that is not closed, or one that can still give somebody its result.
std::optional<JobFile> unfinished_job(const Kit& kit, const CoordinatorOptions& options) {
    std::optional<JobFile> job = read_job(kit);
    if (!job) return std::nullopt;
    const std::string where = kit.file("job").string();
    if (!work_together(job->version, version())) {
        // One that is done needs nothing from this version but to be put aside.
        if (job->phase == Phase::closed) return std::nullopt;
        throw InputError(
            {where,
             fmt::format("a job begun by couplet {}", job->version.empty() ? "of an older version" : job->version),
             fmt::format("one begun by the minor version of {}", version()),
             "Finish it with that version, or remove that folder to begin a new job."});
    }
    extend_roster(*job, kit);
    std::string other = difference(job->spec, options.spec);
    if (options.schema && job->schema != options.schema) other += (other.empty() ? "" : ", ") + std::string("`schema`");
    const bool lacking = !job->unreported().empty();
    const bool meant = job->phase != Phase::closed || (options.late_merge && (lacking || !job->absent().empty()));
    if (meant && !other.empty()) {
        throw InputError({where, "a job with other flags: " + other, "the flags it was begun with",
                          "Give those again to continue it, or remove that folder to begin a new job."});
    }
    if (!meant && !(lacking && other.empty())) return std::nullopt;
    return job;
}

/// Makes room for a new job. The one before is kept until the next: it may be wanted for clients that come late.
void put_aside(const Kit& kit) {
    const fs::path folder = kit.file("job");
    if (fs::exists(folder / "job.json")) {
        fs::remove_all(kit.file("job.old"));
        fs::rename(folder, kit.file("job.old"));
    }
    fs::remove_all(folder);
    fs::create_directories(folder);
}

}  // namespace

void check_options(const Kit& kit, CoordinatorOptions& options) {
    const auto roster = static_cast<Index>(kit.roster.size());
    if (options.min_clients && (*options.min_clients < 1 || *options.min_clients > roster)) {
        throw InputError({"`min_clients`", std::to_string(*options.min_clients),
                          fmt::format("a number from 1 to {}, the clients on the roster", roster), ""});
    }
    if (options.spec.shield) check_shield(options, roster);
    if (options.spec.centring.any() &&
        (options.resume || options.late_merge || options.spec.missing || options.spec.shield)) {
        const CentringOptions& centring = options.spec.centring;
        throw InputError({centring.weight != Weight::none ? "`weight`"
                          : centring.centre               ? "`centre`"
                                                          : "`scale`",
                          "given with clients that are merged at another time, with missing entries or secure sums",
                          "members who are all there, with complete data", "Leave one or the other out."});
    }
    if (options.insecure) require_loopback(kit);
    if (options.spec.missing) options.spec.job.precision = Precision::f64;
}

JobFile open_job(const Kit& kit, const CoordinatorOptions& options) {
    const auto agree = [&](const JobFile& job) {
        if (options.on_job) options.on_job(wire::to_hex(job.id));
    };
    if (auto unfinished = unfinished_job(kit, options)) {
        agree(*unfinished);
        return std::move(*unfinished);
    }
    JobFile job = new_job(kit, options);
    agree(job);
    put_aside(kit);
    if (!options.resume) return job;
    const JobFolder folder(kit.file("job"));
    for (std::size_t i = 0; i < options.resume->contributions.size(); ++i) {
        folder.keep_resumed(i, options.resume->contributions[i].clone().state);
    }
    return job;
}

}  // namespace couplet::net
