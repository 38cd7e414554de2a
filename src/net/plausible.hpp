#pragma once

#include <string>

#include "couplet/wire/message.hpp"
#include "couplet/wire/receiver.hpp"

namespace couplet::net {

// What one client says must not spoil the sums over all, nor what is said of them. Each of these throws InputError that
// blames `who` for what no honest client says.

/// Room for millions of clients, and for products of their squared norms.
inline constexpr double largest_norm2 = 1e150;

/// What a client says of its data when it joins a job.
void require_plausible_hello(const wire::JobSpec& spec, const Hello& hello, const std::string& who);
/// The squared norm of data that was centred and scaled as the job says.
void require_plausible_norm2(const wire::JobSpec& spec, double norm2, const std::string& who);
/// What a client says of its result.
void require_plausible_report(const wire::Report& report, const std::string& who);
/// The head of an upload, by what the client said when it joined; nothing: it said nothing.
void require_plausible_upload(const Job& job, const wire::Head& head, const std::optional<Hello>& hello,
                              const std::string& who);

/// Its relative squared error; 0 of nothing.
double rse_of(const wire::Report& report) noexcept;

}  // namespace couplet::net
