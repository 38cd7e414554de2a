#pragma once

#include <filesystem>
#include <string>

#include "couplet/wire/site.hpp"

namespace couplet::net {

/// What a site whose process ends with every message keeps of jobs of secure sums, in a folder that only its owner
/// reads: what it has helped to read, for ever (sums.json, as couplet client keeps it), and the steps of the sum that
/// is being asked for, with their secrets, until the job is over. Those of jobs that have not moved for a day, and of
/// all but the eight latest beside the one that asks, go as well: nobody says when a job has failed. Two processes must
/// not use it at one time.
class SiteMemory {
  public:
    /// Makes the folder where it is not there.
    explicit SiteMemory(std::filesystem::path folder);

    /// Tools that remember here. Throws InputError for files that are not as they were written: they must not count as
    /// empty.
    wire::SecureTools tools(const wire::JobId& job, Notary notary) const;
    /// The job is over: its secrets go.
    void forget_steps(const wire::JobId& job) const;
    /// Keys of a site without a kit, made when they are first asked for: for simulations, where nobody has to be
    /// convinced of who a site is.
    Notary own_notary(const std::string& name) const;

  private:
    std::filesystem::path journal(const wire::JobId& job) const;

    std::filesystem::path folder_;
};

/// Believes every site to be who it says: for the server of a simulation.
Notary trusting_notary();
/// Signs and checks with the certificates of a kit, of a client or a coordinator.
Notary kit_notary(const std::filesystem::path& kit);

}  // namespace couplet::net
