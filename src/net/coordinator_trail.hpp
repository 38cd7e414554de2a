#pragma once

#include <string>

#include "audit_trail.hpp"
#include "couplet/net/coordinator.hpp"
#include "job_file.hpp"

namespace couplet::net {

/// What a coordinator writes down of a job for whoever asks later: what it is and how it ends; what passes between it
/// and the clients is written by their streams. What cannot be written down throws RunError.
class CoordinatorTrail {
  public:
    /// The trail is in the coordinator's kit.
    explicit CoordinatorTrail(const Kit& kit, Spelling spelling = {});

    /// That streams write to.
    AuditTrail& audit() noexcept { return audit_; }
    void begin(const JobFile& job);
    void end(const CoordinatorResult& result, const Features& features);
    void fail(const std::string& job, const std::string& reason);

  private:
    void write_end(AuditTrail::Fields fields);

    std::string self_;
    AuditTrail audit_;
};

}  // namespace couplet::net
