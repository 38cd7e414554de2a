#pragma once

#include <optional>
#include <string>
#include <vector>

#include "couplet/tensor/shape.hpp"

namespace couplet::net {

/// What a client says of its data, before and after the job.
struct Claim {
    std::string client;
    double norm2 = 0;                             ///< as it greeted
    std::optional<double> error2 = std::nullopt;  ///< as it reported, as the next
    std::optional<double> reported_norm2 = std::nullopt;
};

/// Why a certificate does not hold, and who is to be asked.
struct Doubt {
    std::string client;
    std::string reason;
};

/// Clients whose norm is three orders of magnitude above the others' (of two, the larger one): the error of a job is
/// relative to all norms together, so that such a client makes that of the others invisible.
std::vector<Doubt> norm_doubts(const std::vector<Claim>& claims);

/// Clients who report another norm than they greeted with.
std::vector<Doubt> report_doubts(const std::vector<Claim>& claims);

/// Whether the measured errors keep to the bound, of the error relative to all norms together. Names those whose own
/// error is above it, or else the one with the largest. Who has not reported counts as without error: what the others
/// have measured contradicts the bound all the same.
std::vector<Doubt> error_doubts(const std::vector<Claim>& claims, double bound);

/// Whether one client's error alone contradicts the bound, given the squared norm of all together.
bool contradicts(double error2, double bound, double all_norm2);

}  // namespace couplet::net
