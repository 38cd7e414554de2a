#pragma once

#include <vector>

#include "job_desk.hpp"

namespace couplet::net {

/// Has the members of an attempt centre and scale their data by sums over all of them, and begins the next attempt with
/// what comes of it. Throws Lost when one does not answer what can be used.
void centre_members(JobDesk& desk, const std::vector<Index>& members, std::uint32_t attempt);

/// What the members' data was moved by; empty: nothing is wanted, or it is not known yet.
Centring centring_of_job(const Room& room);

}  // namespace couplet::net
